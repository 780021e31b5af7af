"""Commitments that lie on a ledger: batches of them as a tree, the path of each to its root, and a checkpoint that went along.

The tree is that of RFC 6962. Only the ledger shows whether it has the root.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from identity_tlog.note import Checkpoint
from identity_tlog.proofs import verify_inclusion
from identity_tlog.tree import Malformed, leaf_hash, node_hash

FORMAT: Final = "identity-anchored-checkpoint/v1"
MOST_HASHES: Final = 63
_CHECKPOINT_LABEL: Final = b"identity-anchor-checkpoint v1\0"
_HASH_CHARACTERS: Final = 43


def checkpoint_commitment(text: bytes) -> bytes:
    """Return the 32 bytes that stand for the body of a checkpoint."""
    return hashlib.sha256(_CHECKPOINT_LABEL + hashlib.sha256(text).digest()).digest()


def root_and_paths(commitments: Sequence[bytes]) -> tuple[bytes, list[list[bytes]]]:
    """Return the root over at least one commitment, and the inclusion path of each, the sibling first.

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


@dataclass(frozen=True, slots=True)
class AnchorPath:
    """The place of a commitment in the tree whose ``root`` the ledger of this name has or will have; ``sealed_at`` as in RFC 3339."""

    ledger: str
    root: bytes
    index: int
    size: int
    path: tuple[bytes, ...]
    sealed_at: str

    @property
    def json(self) -> dict[str, Any]:
        """Return the path as JSON; bytes as base64url."""
        return {
            "ledger": self.ledger,
            "root": _base64url(self.root),
            "index": self.index,
            "size": self.size,
            "path": [_base64url(one) for one in self.path],
            "sealedAt": self.sealed_at,
        }

    def encode(self) -> str:
        """Return the JSON as text."""
        return json.dumps(self.json, separators=(",", ":"))

    @classmethod
    def parse(cls, value: Any) -> AnchorPath:
        """Read untrusted JSON. Raises ``Malformed``."""
        if not isinstance(value, dict):
            raise Malformed("the anchor's details are not an object")
        ledger, index, size, path = (value.get(name) for name in ("ledger", "index", "size", "path"))
        sealed_at = value.get("sealedAt", "")
        if not isinstance(ledger, str) or not isinstance(sealed_at, str):
            raise Malformed("the anchor's details name no ledger")
        if type(index) is not int or type(size) is not int:
            raise Malformed("the anchor's details name no index or size")
        if not isinstance(path, list) or len(path) > MOST_HASHES:
            raise Malformed("the anchor's path is not a list of hashes")
        return cls(ledger, _hash_of(value.get("root")), index, size, tuple(map(_hash_of, path)), sealed_at)

    def verify(self, commitment: bytes) -> None:
        """Raise ``Refuted`` unless the path leads from the commitment to the root."""
        verify_inclusion(leaf_hash(commitment), self.index, self.size, self.path, self.root)


@dataclass(frozen=True, slots=True)
class AnchoredCheckpoint:
    """A checkpoint of a log with the ``path`` of its commitment. It holds an operator to the log without a signature of the operator.

    The transaction (lower-case hex) and the block are those that the ledger returned.
    """

    checkpoint: Checkpoint
    path: AnchorPath
    tx_hash: str | None
    block_number: int | None

    def verify(self) -> None:
        """Raise ``Refuted`` unless the path leads from the checkpoint to the root."""
        self.path.verify(checkpoint_commitment(self.checkpoint.text.encode()))

    @property
    def json(self) -> dict[str, Any]:
        """Return the checkpoint as JSON."""
        return {
            "format": FORMAT,
            "checkpoint": self.checkpoint.text,
            "txHash": self.tx_hash,
            "blockNumber": self.block_number,
            "anchorDetails": self.path.json,
        }

    def encode(self) -> bytes:
        """Return the JSON as text."""
        return json.dumps(self.json, indent=2).encode() + b"\n"

    @classmethod
    def parse(cls, text: bytes) -> AnchoredCheckpoint:
        """Read an untrusted JSON text. Raises ``Malformed``."""
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Malformed("not an anchored checkpoint") from error
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise Malformed("not an anchored checkpoint")
        note, tx_hash, block_number = (body.get(name) for name in ("checkpoint", "txHash", "blockNumber"))
        if not isinstance(tx_hash, str | None) or not (block_number is None or type(block_number) is int):
            raise Malformed("the anchored checkpoint names no transaction or block")
        checkpoint = Checkpoint.parse(note if isinstance(note, str) else "")
        return cls(checkpoint, AnchorPath.parse(body.get("anchorDetails")), tx_hash, block_number)


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _hash_of(value: Any) -> bytes:
    text = value if isinstance(value, str) and value.isascii() and len(value) == _HASH_CHARACTERS else ""
    decoded = base64.urlsafe_b64decode(f"{text}=") if text else b""
    # Characters that are not base64url are skipped, and the last one has two bits that belong to no byte.
    if not text or _base64url(decoded) != text:
        raise Malformed("not the base64url of 32 bytes")
    return decoded
