"""What a stranger checks of an anchor: commitment, path and root (RFC 6962), without the service.

The commitment to a proof is ``SHA-256("identity-anchor-proof v1" 00 salt SHA-256(JCS of the ZKProof))``: anyone who has the proof and its
salt can make it, and no one can tell from it which proof it is. That the root is on a ledger is for that ledger to say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from identity_codec import jcs
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_codec.values import value_class
from identity_core.domain.proofs.proof import ZkProof
from identity_tlog.proofs import verify_inclusion
from identity_tlog.tree import HASH_BYTES, Malformed, leaf_hash, node_hash

_PROOF_LABEL: Final = b"identity-anchor-proof v1\0"
_CHECKPOINT_LABEL: Final = b"identity-anchor-checkpoint v1\0"
MOST_HASHES: Final = 63


def proof_commitment(proof: ZkProof, salt: bytes) -> bytes:
    """The 32 octets that stand for a proof."""
    said: dict[str, JsonValue] = {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }
    digest = hashlib.sha256(jcs.canonicalize(said)).digest()
    return hashlib.sha256(_PROOF_LABEL + salt + digest).digest()


def checkpoint_commitment(text: bytes) -> bytes:
    """The 32 octets that stand for the body of a checkpoint of the ledger's own log."""
    return hashlib.sha256(_CHECKPOINT_LABEL + hashlib.sha256(text).digest()).digest()


def root_and_paths(commitments: Sequence[bytes]) -> tuple[bytes, list[list[bytes]]]:
    """The root over at least one commitment, and the inclusion path of each, the sibling first.

    Pairing from below, with a lone last node going up as it is, makes the tree of RFC 6962 §2.1.
    """
    level = [leaf_hash(commitment) for commitment in commitments]
    paths: list[list[bytes]] = [[] for _ in level]
    places = list(range(len(level)))
    while len(level) > 1:
        for path, place in zip(paths, places, strict=True):
            if place ^ 1 < len(level):
                path.append(level[place ^ 1])
        places = [place >> 1 for place in places]
        lone = level[-1:] if len(level) % 2 else []
        level = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)] + lone
    return level[0], paths


@value_class
class AnchorPath:
    """Where a commitment is in the tree whose ``root`` the ledger of this name has or will have."""

    ledger: str
    root: bytes
    index: int
    size: int
    path: tuple[bytes, ...]
    sealed_at: str

    @classmethod
    def at(cls, ledger: str, root: bytes, index: int, size: int, path: Sequence[bytes], now: datetime) -> AnchorPath:
        """The place of a leaf that is sealed now."""
        return cls(ledger, root, index, size, tuple(path), printed(now))

    @property
    def json(self) -> dict[str, JsonValue]:
        """Octets as base64url."""
        return {
            "ledger": self.ledger,
            "root": base64url_encode(self.root),
            "index": self.index,
            "size": self.size,
            "path": [base64url_encode(one) for one in self.path],
            "sealedAt": self.sealed_at,
        }

    def encode(self) -> str:
        """The JSON as it is stored."""
        return json.dumps(self.json, separators=(",", ":"))

    @classmethod
    def parse(cls, value: Any) -> AnchorPath:
        """From the JSON, no matter who wrote it. Raises ``Malformed``."""
        if not isinstance(value, dict):
            raise Malformed("the anchor's details are no object")
        ledger, index, size, path = (value.get(name) for name in ("ledger", "index", "size", "path"))
        sealed_at = value.get("sealedAt", "")
        if not isinstance(ledger, str) or not isinstance(sealed_at, str):
            raise Malformed("the anchor's details name no ledger")
        if not isinstance(index, int) or not isinstance(size, int) or {type(index), type(size)} != {int}:
            raise Malformed("the anchor's details name no index or size")
        if not isinstance(path, list) or len(path) > MOST_HASHES:
            raise Malformed("the anchor's path is no list of hashes")
        return cls(ledger, hash_of(value.get("root")), index, size, tuple(map(hash_of, path)), sealed_at)

    def verify(self, commitment: bytes) -> None:
        """Raises ``Refuted`` unless the path leads from the commitment to the root."""
        verify_inclusion(leaf_hash(commitment), self.index, self.size, self.path, self.root)


def hash_of(value: Any) -> bytes:
    """32 octets from their base64url. Raises ``Malformed``."""
    try:
        octets = base64url_decode(value) if isinstance(value, str) else b""
    except ValueError as error:
        raise Malformed("not base64url") from error
    if len(octets) != HASH_BYTES:
        raise Malformed("not the base64url of 32 octets")
    return octets
