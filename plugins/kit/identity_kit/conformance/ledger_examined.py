"""The fixtures of the kits of ledgers, and the functions by which they read a ledger and check what they read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import ClassVar, Literal

import pytest

from identity_core.ports.ledger import ExaminableLedger, LedgerBackend, LedgerEntry, Receipt

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"


async def whole(ledger: LedgerBackend) -> list[LedgerEntry]:
    """Return the whole ledger, read in pages."""
    lines: list[LedgerEntry] = []
    last = 0
    while page := await ledger.entries_after(last, 100):
        assert len(page) <= 100, "a page is longer than its limit"
        assert page[0].receipt.sequence > last, "a page begins before its place"
        lines.extend(page)
        last = page[-1].receipt.sequence
    return lines


def check_lines(lines: Sequence[LedgerEntry], *, shared_chain: bool = False) -> None:
    """Check the invariants of every ledger at every moment: no gap, one order, time that never decreases."""
    assert [line.receipt.sequence for line in lines] == list(range(1, len(lines) + 1)), (
        "sequences have a gap or a double"
    )
    blocks = [line.receipt.block_number for line in lines]
    assert blocks == sorted(blocks), "block numbers go back"
    if not shared_chain:
        unbroken = set(range(1, blocks[-1] + 1)) if blocks else set()
        assert set(blocks) == unbroken, "block numbers have a gap"
    times = [line.receipt.recorded_at for line in lines]
    assert all(before < after for before, after in pairwise(times)), "time stands still or goes back"
    transactions = {(line.receipt.transaction_hash, line.receipt.block_number) for line in lines}
    hashes = len({transaction_hash for transaction_hash, _ in transactions})
    assert hashes == len(transactions), "one transaction is in two blocks"
    assert shared_chain or hashes == len(lines), "two entries have one transaction hash"
    versions: dict[str, int] = {}
    for line in lines:
        assert line.version == versions.get(line.did, 0) + 1, f"versions of {line.did} have a gap or a double"
        versions[line.did] = line.version


def check_receipt(receipt: Receipt) -> None:
    """Check the form of a receipt."""
    assert re.fullmatch(r"[0-9a-f]{64}", receipt.transaction_hash), "not 32 bytes in lower-case hex"
    assert receipt.block_number >= 1
    assert receipt.sequence >= 1
    assert receipt.recorded_at.utcoffset() == timedelta(0), "recorded_at is not an aware UTC time"


async def examined(ledger: ExaminableLedger, kind: Literal["entries", "anchors"]) -> int:
    """Return the number of records that the ledger examined in pages without a fault."""
    after = 0
    while (found := await ledger.examine(kind, after, 4)).last != after:
        assert found.last <= after + 4, "more was looked at than was asked for"
        assert found.faults == ()
        after = found.last
    return after


class ExaminedLedger:
    """The ledger under test, for every group of tests."""

    shared_chain: ClassVar[bool] = False

    @pytest.fixture
    def reopen(self) -> Callable[[], LedgerBackend] | None:
        """Return a function that opens the data of ``ledger`` again after it was closed; None for a ledger in memory."""
        return None
