"""The verifiable history of one DID: its log, and the place of every entry in a signed log.

A history is kept as one JSON text with one checkpoint for all its entries, so that it can be checked years later with only the
log's public key. It cannot show that nothing newer exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import orjson
from identity_commands import verify_log
from msgspec import Struct

from identity_codec import multibase, strict_json, times
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids.logs import check_not_retired, signer_of
from identity_core.domain.dids.state import LogInvalid
from identity_tlog.leaf import LogLeaf, Recorded, check_recorded
from identity_tlog.note import SignedCheckpoint, VerifierKey
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.domain.checkpoint_keys import TrustedLog, no_growth, read_service_log

FORMAT: Final = "identity-ledger-history/v1"
IMMUTABLE: Final = "did:key:"
"""A DID of this method is its own document; its one entry says when it was registered and is not a log."""


class LoggedHistory(Struct, frozen=True):
    """The entries of a DID, oldest first, with proofs to the root of one signed checkpoint; and those of the service's own DID,
    which state the retired keys of logs."""

    did: str
    checkpoint: bytes
    entries: tuple[Recorded, ...]
    service_did: str | None = None
    service: tuple[Recorded, ...] = ()

    def encode(self) -> bytes:
        """Return the history as JSON."""
        entries = [_written(one) for one in self.entries]
        body: dict[str, Any] = {
            "format": FORMAT,
            "did": self.did,
            "checkpoint": self.checkpoint.decode(),
            "entries": entries,
        }
        if self.service_did is not None:
            body["service"] = {"did": self.service_did, "entries": [_written(one) for one in self.service]}
        return orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n"

    def followed(self, given: VerifierKey, service_did: str | None) -> TrustedLog:
        """Return the log to whose keys the service log in it leads from ``given``, without a service that proves its growth. Raises
        as ``TrustedLog.follow``."""
        if self.service_did is None or service_did not in (None, self.service_did):
            raise Refuted("the history has no log of this service's own")
        leaves = [one.leaf for one in self.service]
        evidence, is_believed = [(self.checkpoint, self.service)], service_did is not None
        return TrustedLog.follow(given, self.service_did, leaves, evidence, no_growth, is_believed=is_believed)

    @classmethod
    def parse(cls, data: bytes) -> LoggedHistory:
        """Raise ``Malformed``."""
        try:
            body = strict_json.loads(data)
            if body["format"] != FORMAT:
                raise Malformed("a history of another format")
            did, checkpoint = str(body["did"]), str(body["checkpoint"]).encode()
            entries = tuple(_read(did, one) for one in body["entries"])
            if "service" not in body:
                return cls(did, checkpoint, entries)
            service = str(body["service"]["did"])
            own = tuple(_read(service, one) for one in body["service"]["entries"])
            return cls(did, checkpoint, entries, service, own)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise error if isinstance(error, Malformed) else Malformed("not the history of a DID") from error


class ProvenHistory(Struct, frozen=True):
    """The result of a valid history."""

    did: str
    versions: int
    deactivated: bool
    first: LogLeaf
    last: LogLeaf
    signed: SignedCheckpoint

    def summary(self) -> dict[str, JsonValue]:
        """Return the result as JSON."""
        checkpoint = self.signed.checkpoint
        return {
            "did": self.did,
            "versions": self.versions,
            "deactivated": self.deactivated,
            "firstRecorded": times.printed(self.first.recorded_at),
            "lastRecorded": times.printed(self.last.recorded_at),
            "sequence": self.last.sequence,
            "origin": checkpoint.origin,
            "treeSize": checkpoint.size,
            "rootHash": multibase.base64url_encode(checkpoint.root),
            "cosigned": {name: times.printed(at) for name, at in self.signed.cosigned.items()},
        }


def retired_keys(did: str, entries: Sequence[Recorded], signed: SignedCheckpoint) -> Mapping[str, int]:
    """Return the tree sizes from which on keys are retired by the log of the service's own DID, by multikey. Raises as
    ``verify_history``."""
    check_recorded(did, entries, signed)
    history = read_service_log(did, [one.leaf for one in entries])
    for one in entries:
        check_not_retired(history.retired, one.leaf.entry, one.leaf.index)
    return history.retired


def verify_history(
    did: str, entries: Sequence[Recorded], signed: SignedCheckpoint, retired: Mapping[str, int] = MappingProxyType({})
) -> ProvenHistory:
    """Verify every entry and the log that they form. Entries of ``retired`` keys are invalid from their tree size on. Raises
    ``Refuted``, ``Malformed``, ``LogInvalid``."""
    check_recorded(did, entries, signed)
    deactivated = False
    if not did.startswith(IMMUTABLE):
        verified = verify_log.verify(b"\n".join(one.leaf.entry for one in entries), approved=False)
        if verified.did != did:
            raise Refuted(f"the log is one of {verified.did}")
        deactivated = verified.deactivated
        for one in entries:
            check_not_retired(retired, one.leaf.entry, one.leaf.index)
    return ProvenHistory(did, len(entries), deactivated, entries[0].leaf, entries[-1].leaf, signed)


def require_places(did: str, lines: Sequence[bytes], placed: Sequence[LogLeaf], retired: Mapping[str, int]) -> None:
    """Check the places of entries in a log of ``did``: entries of ``retired`` keys are invalid from their tree size on.

    ``placed`` are proven leaves of some of its ``lines``; each also places those before it. Raises ``LogInvalid``: for a line of a
    retired key without a place below that size. Raises ``Refuted``: for leaves that are not of these lines, in their order.
    """
    places: dict[int, int] = {}
    for leaf in placed:
        if leaf.did != did or not 0 < leaf.version <= len(lines) or lines[leaf.version - 1] != leaf.entry:
            raise Refuted(f"entry {leaf.sequence} of the log of the ledger is not one of these")
        places[leaf.version] = leaf.index
    in_order = [places[version] for version in sorted(places)]
    if in_order != sorted(set(in_order)):
        raise Refuted("the entries stand in another order than in their log")
    for version, line in enumerate(lines, 1):
        size = retired.get(signer_of(line) or "")
        bounds = [place for known, place in places.items() if known >= version]
        if size is None or (bounds and min(bounds) < size):
            continue
        if version in places:
            check_not_retired(retired, line, places[version])
        raise LogInvalid(
            f"The entry is signed by a retired key, and nothing places it below leaf {size}.", details={"line": version}
        )


def read_transaction(body: Mapping[str, Any]) -> LogLeaf:
    """Return a leaf from an answer of getLedgerTransaction, or from an entry of a kept history with its ``did``.

    Raises ``KeyError``, ``TypeError``, ``ValueError``.
    """
    return LogLeaf(
        int(body["sequence"]),
        str(body["transactionHash"]),
        int(body["blockNumber"]),
        times.parse(body["recordedAt"]),
        str(body["did"]),
        int(body["versionId"]),
        multibase.base64url_decode(body["entry"]),
    )


def _read(did: str, body: Mapping[str, Any]) -> Recorded:
    hashes = tuple(multibase.base64url_decode(text) for text in body["hashes"])
    return Recorded(read_transaction({**body, "did": did}), hashes)


def _written(one: Recorded) -> dict[str, JsonValue]:
    leaf = one.leaf
    return {
        "sequence": leaf.sequence,
        "versionId": leaf.version,
        "transactionHash": leaf.transaction_hash,
        "blockNumber": leaf.block_number,
        "recordedAt": times.printed_exactly(leaf.recorded_at),
        "entry": multibase.base64url_encode(leaf.entry),
        "hashes": [multibase.base64url_encode(hash_) for hash_ in one.hashes],
    }
