"""The promises of a ledger, as tests (``ports/ledger.py``).

An author subclasses ``LedgerConformance`` with one fixture, and a second one when the ledger outlives its process::

    class TestMyLedger(LedgerConformance):
        @pytest.fixture
        def ledger(self, tmp_path): return MyLedger(tmp_path)

        @pytest.fixture
        def reopen(self, tmp_path): return lambda: MyLedger(tmp_path)

A ledger on a shared chain sets ``shared_chain = True``. Blocks may then be missing in between, and concurrent appends may be in one
transaction with one hash.

``ledger`` must be empty. Every test runs its own event loop. Tests with killed processes or unreachable servers are in
``ledger_faults.LedgerFaultConformance``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import (
    ExaminableLedger,
    LedgerBackend,
    LedgerEntry,
    LedgerHead,
    LogSize,
    NewestEntries,
    NewestEntry,
    Receipt,
)
from identity_kit.conformance.ledger_examined import DID, ExaminedLedger, check_lines, check_receipt, examined, whole
from identity_kit.conformance.loops import close, expect_error, own_loop_per_test

NASTY_ENTRIES = (b"", b"\0", b"a\0b", b"\xff\xfe", b"'; DROP TABLE x; --", b"{}\n", bytes(range(256)) * 64)
NASTY_DIDS = (
    "did:x:A",
    "did:x:a",
    "did:x:a ",
    "did:x:%00",
    "did:x:_",
    "did:x:'\"\\",
    "did:x:é",
    "did:x:e\u0301",
    "did:x:\U0001f980",
    "did:x:" + "z" * 506,
)


@own_loop_per_test
class LedgerConformance(ExaminedLedger):
    """The promises of every ledger."""

    def test_it_is_a_ledger(self, ledger: LedgerBackend) -> None:
        """The object has the methods of the port."""
        assert isinstance(ledger, LedgerBackend)

    async def test_an_empty_ledger_has_nothing(self, ledger: LedgerBackend) -> None:
        """The head is all zero and nothing is found."""
        assert await ledger.head() == LedgerHead(0, 0)
        assert list(await ledger.entries(DID)) == []
        assert list(await ledger.entries_after(0, 10)) == []

    async def test_appended_entry_is_found(self, ledger: LedgerBackend) -> None:
        """Entries come back with the receipts that ``append`` returned, oldest first, and the head is the newest."""
        receipts = [await ledger.append(DID, b"%d" % n, expected_version=n) for n in range(5)]
        for receipt in receipts:
            check_receipt(receipt)
        lines = [LedgerEntry(DID, n + 1, b"%d" % n, receipt) for n, receipt in enumerate(receipts)]
        assert list(await ledger.entries(DID)) == lines
        assert await whole(ledger) == lines
        assert await ledger.head() == LedgerHead(receipts[-1].sequence, receipts[-1].block_number)
        assert list(await ledger.entries("did:x:other")) == []
        if isinstance(ledger, NewestEntries):
            last = NewestEntry(lines[-1].version, lines[-1].receipt.transaction_hash)
            assert [await ledger.newest(did) for did in (DID, "did:x:other")] == [last, None]
        check_lines(lines, shared_chain=self.shared_chain)

    @pytest.mark.parametrize("expected", [-1, 0, 1, 3, 2**40])
    async def test_a_wrong_version_is_a_conflict(self, ledger: LedgerBackend, expected: int) -> None:
        """``VersionConflict`` for every number but that of the DID's entries; nothing is recorded."""
        for n in range(2):
            await ledger.append(DID, b"%d" % n, expected_version=n)
        await expect_error(VersionConflict, ledger.append(DID, b"wrong", expected_version=expected))
        assert [line.entry for line in await ledger.entries(DID)] == [b"0", b"1"]
        assert (await ledger.append(DID, b"right", expected_version=2)).sequence == 3

    async def test_the_same_append_again_is_a_conflict(self, ledger: LedgerBackend) -> None:
        """A writer that repeats its append after a lost answer is distinguished from the first one; nothing is recorded twice."""
        receipt = await ledger.append(DID, b"same", expected_version=0)
        for _ in range(2):
            await expect_error(VersionConflict, ledger.append(DID, b"same", expected_version=0))
        assert [line.receipt for line in await ledger.entries(DID)] == [receipt]

    async def test_pages_are_exact(self, ledger: LedgerBackend) -> None:
        """``entries_after`` gives at most ``limit`` entries, none twice, none left out, and nothing behind the end."""
        for n in range(23):
            await ledger.append(f"did:x:{n % 5}", b"%d" % n, expected_version=n // 5)
        for limit in (1, 2, 7, 23, 1000):
            lines: list[LedgerEntry] = []
            while len(lines) < 23:
                page = await ledger.entries_after(len(lines), limit)
                assert len(page) == min(limit, 23 - len(lines)), limit
                lines.extend(page)
            assert [line.entry for line in lines] == [b"%d" % n for n in range(23)], limit
            assert list(await ledger.entries_after(22, limit)) == lines[22:], limit
            assert list(await ledger.entries_after(10_000, limit)) == [], limit

    async def test_the_entries_of_a_did_come_in_pages(self, ledger: LedgerBackend) -> None:
        """``entries`` continues behind a version and stops at a limit; ``log_size`` returns their total length."""
        for n in range(7):
            await ledger.append(DID, b"%d" % n, expected_version=n)
            await ledger.append("did:x:other", b"other", expected_version=n)
        lines = list(await ledger.entries(DID))
        assert [line.version for line in lines] == [1, 2, 3, 4, 5, 6, 7]
        for after in (0, 1, 6, 7, 8):
            assert list(await ledger.entries(DID, after=after)) == lines[after:]
            for limit in (1, 3, 7, 1000):
                page = list(await ledger.entries(DID, after=after, limit=limit))
                assert page == lines[after : after + limit]
        assert await ledger.log_size(DID) == LogSize(7, 7)
        assert await ledger.log_size("did:x:absent") == LogSize(0, 0)

    async def test_entries_are_opaque(self, ledger: LedgerBackend) -> None:
        """Every sequence of bytes comes back as it was, up to 16 KiB."""
        entries = (*NASTY_ENTRIES, os.urandom(16_384))
        for n, entry in enumerate(entries):
            await ledger.append(DID, entry, expected_version=n)
        found = await ledger.entries(DID)
        assert [line.entry for line in found] == list(entries)
        assert all(type(line.entry) is bytes for line in found)
        assert [line.entry for line in await whole(ledger)] == list(entries)

    async def test_dids_are_compared_exactly(self, ledger: LedgerBackend) -> None:
        """Case, blanks, accents and their composed forms all count."""
        for did in NASTY_DIDS:
            await ledger.append(did, did.encode(), expected_version=0)
        for did in NASTY_DIDS:
            found = await ledger.entries(did)
            assert [(line.did, line.version, line.entry) for line in found] == [(did, 1, did.encode())]

    async def test_the_hash_tells_what_was_recorded(self, ledger: LedgerBackend) -> None:
        """The same bytes under another DID or version have another transaction hash."""
        places = [("did:x:a", 0), ("did:x:a", 1), ("did:x:b", 0), ("did:x:a1", 0)]
        receipts = [await ledger.append(did, b"same", expected_version=version) for did, version in places]
        assert len({receipt.transaction_hash for receipt in receipts}) == len(places)

    async def test_closing_twice_is_no_error_and_ends_it(self, ledger: LedgerBackend) -> None:
        """After ``close``, if there is one, an append raises ``LedgerUnavailable``."""
        await ledger.append(DID, b"1", expected_version=0)
        await close(ledger)
        await close(ledger)
        if hasattr(ledger, "close"):
            await expect_error(LedgerUnavailable, ledger.append(DID, b"2", expected_version=1))

    async def test_it_outlives_its_process(
        self, ledger: LedgerBackend, reopen: Callable[[], LedgerBackend] | None
    ) -> None:
        """Check that what was acknowledged is there after a restart; numbers, order and conflicts go on where they were."""
        if reopen is None:
            pytest.skip("this ledger gives no fixture 'reopen'")

        receipts = [await ledger.append(DID, b"%d" % n, expected_version=n) for n in range(3)]
        await close(ledger)
        again = reopen()
        try:
            assert [line.receipt for line in await again.entries(DID)] == receipts
            assert await again.head() == LedgerHead(receipts[-1].sequence, receipts[-1].block_number)
            await expect_error(VersionConflict, again.append(DID, b"wrong", expected_version=2))
            await again.append(DID, b"3", expected_version=3)
            lines = await whole(again)
            assert [line.entry for line in lines] == [b"0", b"1", b"2", b"3"]
            check_lines(lines, shared_chain=self.shared_chain)
        finally:
            await close(again)

    async def test_a_conflict_fails_alone(self, ledger: LedgerBackend) -> None:
        """Check that what is appended beside a conflict goes through, and the conflict leaves no gap."""
        await ledger.append(DID, b"first", expected_version=0)
        appends = []
        for n in range(20):
            appends.append(ledger.append(f"did:x:{n}", b"good", expected_version=0))
            appends.append(ledger.append(DID, b"bad", expected_version=0))
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        assert all(isinstance(outcome, Receipt) for outcome in outcomes[::2]), "a conflict took others with it"
        assert all(isinstance(outcome, VersionConflict) for outcome in outcomes[1::2]), "a conflict went through"
        lines = await whole(ledger)
        assert len(lines) == 21
        check_lines(lines, shared_chain=self.shared_chain)

    async def test_parallel_appends_of_one_version_have_one_winner(self, ledger: LedgerBackend) -> None:
        """Check that of 64 callers one gets a receipt, and its entry is the one that is there."""
        appends = (ledger.append(DID, b"%d" % n, expected_version=0) for n in range(64))
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Receipt)]
        assert len(winners) == 1, f"{len(winners)} winners"
        assert sum(isinstance(outcome, VersionConflict) for outcome in outcomes) == 63
        assert [line.entry for line in await ledger.entries(DID)] == [b"%d" % winners[0]]

    async def test_racing_writers_lose_nothing(self, ledger: LedgerBackend) -> None:
        """Writers that read, append and try again after a conflict get every entry in, each once."""

        async def writer(name: int) -> None:
            for turn in range(8):
                while True:
                    version = len(await ledger.entries(DID))
                    try:
                        await ledger.append(DID, b"%d.%d" % (name, turn), expected_version=version)
                        break
                    except VersionConflict:
                        # The number of conflicts during one slow append depends on the machine only.
                        await asyncio.sleep(0.005)

        async with asyncio.timeout(120):
            await asyncio.gather(*(writer(name) for name in range(4)))
        entries = [line.entry for line in await ledger.entries(DID)]
        assert sorted(entries) == sorted(b"%d.%d" % (name, turn) for name in range(4) for turn in range(8))
        check_lines(await whole(ledger), shared_chain=self.shared_chain)

    async def test_readers_never_see_a_gap(self, ledger: LedgerBackend) -> None:
        """While others append, a reader sees an unbroken beginning that only grows."""

        async def reader() -> None:
            seen = 0
            for _ in range(20):
                lines = await whole(ledger)
                check_lines(lines, shared_chain=self.shared_chain)
                assert len(lines) >= seen, "entries vanished"
                seen = len(lines)
                await asyncio.sleep(0)

        async def writer(name: int) -> None:
            for version in range(3):
                await ledger.append(f"did:x:{name}", b"x", expected_version=version)

        await asyncio.gather(reader(), reader(), *(writer(name) for name in range(40)))
        assert len(await whole(ledger)) == 120

    async def test_an_append_that_is_cancelled_leaves_the_ledger_whole(self, ledger: LedgerBackend) -> None:
        """Check that it is recorded or it is not; nothing else suffers."""
        tasks = [asyncio.ensure_future(ledger.append(f"did:x:{n}", b"x", expected_version=0)) for n in range(30)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(outcome, Receipt) for outcome in outcomes[1::2])
        await ledger.append(DID, b"after", expected_version=0)
        lines = await whole(ledger)
        check_lines(lines, shared_chain=self.shared_chain)
        recorded = {line.did for line in lines}
        for n, outcome in enumerate(outcomes):
            assert not isinstance(outcome, Receipt) or f"did:x:{n}" in recorded, "a receipt without its entry"

    async def test_a_ledger_that_examines_itself_finds_what_it_wrote_whole(self, ledger: LedgerBackend) -> None:
        """Page by page, entries and anchors of the same commits."""
        if not isinstance(ledger, ExaminableLedger):
            return
        for turn in range(3):
            await asyncio.gather(
                *(ledger.append(f"did:x:{turn}.{n}", b"x", expected_version=0) for n in range(turn * 4)),
                ledger.submit_anchor(os.urandom(32), 3),
                *(ledger.append(f"did:y:{turn}.{n}", b"y", expected_version=0) for n in range(3)),
                ledger.revoke_leaf(os.urandom(32)),
            )
        assert await examined(ledger, "entries") == 21
        assert await examined(ledger, "anchors") == 6
