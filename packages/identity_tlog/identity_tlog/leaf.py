"""Leaves of the log of a ledger, one for each of its entries (README.md), and what proves that they are in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from identity_tlog.note import SignedCheckpoint, VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof, verify_inclusion
from identity_tlog.tree import Malformed, Refuted, leaf_hash

TAG: Final = b"identity-ledger-leaf/v1"
MAX_LEAF: Final = 65_535
"""Bytes: an entry of a bundle has its length in two bytes (C2SP tlog-tiles)."""

_HEAD: Final = re.compile(
    rb"identity-ledger-leaf/v1\n"
    rb"sequence ([1-9][0-9]{0,18})\n"
    rb"transaction ([0-9a-f]{64})\n"
    rb"block ([1-9][0-9]{0,18})\n"
    rb"recorded ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)\n"
    rb"version ([1-9][0-9]{0,18})\n"
    rb"did ([^\n]+)\n"
    rb"\n"
)
_RECEIPT: Final = re.compile(rb"transaction ([0-9a-f]{64})\nblock ([1-9][0-9]{0,18})\nrecorded ([0-9T:.-]{26}Z)\n")


_TIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z", re.ASCII)


class Head(NamedTuple):
    """The lines before the entry, as an auditor compares them: ``recorded`` has one width, so it sorts as text."""

    sequence: int
    transaction: bytes
    block: int
    recorded: bytes
    version: int
    did: bytes
    entry_at: int


def read_head(data: bytes) -> Head:
    """Return the head of a leaf. Raises ``Malformed``."""
    found = _HEAD.match(data)
    if found is None:
        raise Malformed("not a leaf of a ledger")
    sequence, transaction, block, recorded, version, did = found.groups()
    return Head(int(sequence), transaction, int(block), recorded, int(version), did, found.end())


def _exact(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _whole(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _parse(text: str) -> datetime:
    """Return the time that ``_exact`` writes so. Raises ``ValueError``."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("the time has another form")
    return datetime(*map(int, found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]


@dataclass(frozen=True, slots=True)
class LogLeaf:
    """One entry of the ledger with its receipt. ``transaction_hash`` is lower-case hex, ``recorded_at`` aware UTC."""

    sequence: int
    transaction_hash: str
    block_number: int
    recorded_at: datetime
    did: str
    version: int
    entry: bytes

    @property
    def index(self) -> int:
        """Its place in the tree, from 0."""
        return self.sequence - 1

    @property
    def receipt(self) -> bytes:
        """The lines that a reader of the DID's log lacks, beside the place: what a proof carries as ``extra``."""
        recorded = _exact(self.recorded_at)
        return f"transaction {self.transaction_hash}\nblock {self.block_number}\nrecorded {recorded}\n".encode()

    def encode(self) -> bytes:
        """Return the bytes that are hashed. Raises ``Malformed`` for a DID of two lines and for an entry that no bundle holds."""
        head = b"%s\nsequence %d\n%sversion %d\ndid %s\n\n"
        data = head % (TAG, self.sequence, self.receipt, self.version, self.did.encode()) + self.entry
        if "\n" in self.did or len(data) > MAX_LEAF:
            raise Malformed(f"entry {self.sequence} of the ledger makes no leaf")
        return data

    @classmethod
    def parse(cls, data: bytes) -> LogLeaf:
        """Parse the bytes, which have one form. Raises ``Malformed``."""
        head = read_head(data)
        try:
            recorded_at, did = _parse(head.recorded.decode()), head.did.decode()
        except ValueError as error:
            raise Malformed("the time of a leaf is malformed, or its DID is not text") from error
        entry = data[head.entry_at :]
        return cls(head.sequence, head.transaction.decode(), head.block, recorded_at, did, head.version, entry)

    @classmethod
    def from_receipt(cls, receipt: bytes, *, index: int, did: str, version: int, entry: bytes) -> LogLeaf:
        """Make the leaf from the content of a proof and the data of a reader of the log. Raises ``Malformed``."""
        found = _RECEIPT.fullmatch(receipt)
        if found is None:
            raise Malformed("the proof carries no receipt")
        try:
            recorded_at = _parse(found[3].decode())
        except ValueError as error:
            raise Malformed("the time of the receipt is malformed") from error
        return cls(index + 1, found[1].decode(), int(found[2]), recorded_at, did, version, entry)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry and the hashes that lead from it to the root."""

    leaf: LogLeaf
    hashes: tuple[bytes, ...]


def check_recorded(did: str, entries: Sequence[Recorded], signed: SignedCheckpoint) -> None:
    """Raise ``Refuted`` unless the entries are those of ``did`` in their order, each of them in the tree."""
    checkpoint, before = signed.checkpoint, 0
    for version, one in enumerate(entries, 1):
        leaf = one.leaf
        if (leaf.did, leaf.version) != (did, version) or leaf.sequence <= before:
            raise Refuted(f"version {version} of {did} is missing or out of its order")
        before = leaf.sequence
        try:
            verify_inclusion(leaf_hash(leaf.encode()), leaf.index, checkpoint.size, one.hashes, checkpoint.root)
        except Refuted as error:
            raise Refuted(f"version {version} of {did}: {error}") from error
    if not entries:
        raise Refuted(f"there is no entry of {did}")


@dataclass(frozen=True, slots=True)
class ProvenEntry:
    """One entry that stands in a log. ``cosigned_at`` is when a quorum of witnesses had seen it there, None where none was asked for."""

    leaf: LogLeaf
    signed: SignedCheckpoint
    cosigned_at: datetime | None

    def require_time(self, most: timedelta) -> None:
        """Raise ``Refuted`` unless witnesses saw the entry within ``most`` of its recorded time."""
        if self.cosigned_at is None:
            raise Refuted("no witness says when the entry was there")
        apart = abs(self.cosigned_at - self.leaf.recorded_at)
        if apart > most:
            raise Refuted(
                f"the entry says {_whole(self.leaf.recorded_at)}, and was cosigned {_whole(self.cosigned_at)}"
            )


def verify_entry(proof: TlogProof, policy: WitnessPolicy, *, logs: Sequence[VerifierKey] = ()) -> ProvenEntry:
    """Return the entry that a proof shows, whose ``extra`` is the leaf. It states nothing about the entries before it. Raises
    ``Malformed``, ``Refuted``."""
    if proof.extra is None:
        raise Malformed("the proof does not carry its entry")
    leaf = LogLeaf.parse(proof.extra)
    if leaf.index != proof.index:
        raise Refuted(f"the entry is number {leaf.index} of its log and is proven as number {proof.index}")
    signed = policy.open(proof.checkpoint, logs=logs)
    checkpoint = signed.checkpoint
    verify_inclusion(leaf_hash(proof.extra), proof.index, checkpoint.size, proof.hashes, checkpoint.root)
    return ProvenEntry(leaf, signed, policy.met_at(signed.cosigned))
