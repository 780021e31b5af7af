"""Leaves of the log: one for each entry of the ledger (README.md has the form and the reasons)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from identity_codec import times
from identity_codec.values import value_class
from identity_tlog.note import SignedCheckpoint
from identity_tlog.proofs import verify_inclusion
from identity_tlog.tree import Malformed, Refuted, leaf_hash

TAG: Final = b"identity-ledger-leaf/v1"
MAX_LEAF: Final = 65_535
"""Octets: an entry of a bundle has its length in two octets (C2SP tlog-tiles)."""

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


class Head(NamedTuple):
    """The lines before the entry, as an auditor compares them: ``recorded`` has one width, so it sorts as text."""

    sequence: int
    transaction: bytes
    block: int
    recorded: bytes
    version: int
    did: bytes
    entry_at: int


def read_head(octets: bytes) -> Head:
    """The head of a leaf. Raises ``Malformed``."""
    found = _HEAD.match(octets)
    if found is None:
        raise Malformed("not a leaf of a ledger")
    sequence, transaction, block, recorded, version, did = found.groups()
    return Head(int(sequence), transaction, int(block), recorded, int(version), did, found.end())


@value_class
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
        recorded = times.printed_exactly(self.recorded_at)
        return f"transaction {self.transaction_hash}\nblock {self.block_number}\nrecorded {recorded}\n".encode()

    def encode(self) -> bytes:
        """The octets that are hashed. Raises ``Malformed`` for a DID of two lines and for an entry that no bundle holds."""
        head = b"%s\nsequence %d\n%sversion %d\ndid %s\n\n"
        octets = head % (TAG, self.sequence, self.receipt, self.version, self.did.encode()) + self.entry
        if "\n" in self.did or len(octets) > MAX_LEAF:
            raise Malformed(f"entry {self.sequence} of the ledger makes no leaf")
        return octets

    @classmethod
    def parse(cls, octets: bytes) -> LogLeaf:
        """From its octets, of which there is one form. Raises ``Malformed``."""
        head = read_head(octets)
        try:
            recorded_at, did = times.parse(head.recorded.decode()), head.did.decode()
        except ValueError as error:
            raise Malformed("the time of a leaf is none, or its DID is no text") from error
        entry = octets[head.entry_at :]
        return cls(head.sequence, head.transaction.decode(), head.block, recorded_at, did, head.version, entry)

    @classmethod
    def from_receipt(cls, receipt: bytes, *, index: int, did: str, version: int, entry: bytes) -> LogLeaf:
        """From what a proof carries and a reader of the log knows. Raises ``Malformed``."""
        found = _RECEIPT.fullmatch(receipt)
        if found is None:
            raise Malformed("the proof carries no receipt")
        try:
            recorded_at = times.parse(found[3].decode())
        except ValueError as error:
            raise Malformed("the time of the receipt is none") from error
        return cls(index + 1, found[1].decode(), int(found[2]), recorded_at, did, version, entry)


@value_class
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
