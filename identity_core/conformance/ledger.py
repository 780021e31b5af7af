"""The promises of a ledger, as tests (``ports/ledger.py``).

An author subclasses ``LedgerConformance`` with one fixture, and a second one when the ledger outlives its process::

    class TestMyLedger(LedgerConformance):
        @pytest.fixture
        def ledger(self, tmp_path): return MyLedger(tmp_path)

        @pytest.fixture
        def reopen(self, tmp_path): return lambda: MyLedger(tmp_path)

A ledger on a chain that it shares with others says ``shared_chain = True``: then blocks may be missing in between, and what
is appended at the same time may stand in one transaction, with one hash.

``ledger`` must be empty. Every test runs one event loop of its own. Left out on purpose: what needs a process to be killed
or a server to go away; that is ``ledger_faults.LedgerFaultConformance``.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from identity_core.conformance.ledger_concurrency import ConcurrencyPromises
from identity_core.conformance.ledger_examined import DID, check_lines, check_receipt, close, run, whole
from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, LedgerHead, LogSize, NewestEntries

__all__ = ["DID", "LedgerConformance", "check_lines", "check_receipt", "close", "run", "whole"]

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


class LedgerConformance(ConcurrencyPromises):
    """What every ledger promises."""

    @pytest.fixture
    def reopen(self) -> Callable[[], LedgerBackend] | None:
        """Opens what ``ledger`` wrote anew, after it was closed; None for a ledger that forgets."""
        return None

    def test_it_is_a_ledger(self, ledger: LedgerBackend) -> None:
        """The object has the methods of the port."""
        assert isinstance(ledger, LedgerBackend)

    def test_an_empty_ledger_has_nothing(self, ledger: LedgerBackend) -> None:
        """The head is all zero and nothing is found."""

        async def scenario() -> None:
            assert await ledger.head() == LedgerHead(0, 0)
            assert list(await ledger.entries(DID)) == []
            assert list(await ledger.entries_after(0, 10)) == []

        run(scenario())

    def test_what_is_appended_is_found(self, ledger: LedgerBackend) -> None:
        """Entries come back with the receipts that ``append`` returned, oldest first, and the head is the newest."""

        async def scenario() -> None:
            receipts = [await ledger.append(DID, b"%d" % n, expected_version=n) for n in range(5)]
            for receipt in receipts:
                check_receipt(receipt)
            lines = [LedgerEntry(DID, n + 1, b"%d" % n, receipt) for n, receipt in enumerate(receipts)]
            assert list(await ledger.entries(DID)) == lines
            assert await whole(ledger) == lines
            assert await ledger.head() == LedgerHead(receipts[-1].sequence, receipts[-1].block_number)
            assert list(await ledger.entries("did:x:other")) == []
            if isinstance(ledger, NewestEntries):
                assert [await ledger.newest(did) for did in (DID, "did:x:other")] == [lines[-1], None]
            check_lines(lines, shared_chain=self.shared_chain)

        run(scenario())

    @pytest.mark.parametrize("expected", [-1, 0, 1, 3, 2**40])
    def test_a_wrong_version_is_a_conflict(self, ledger: LedgerBackend, expected: int) -> None:
        """``VersionConflict`` for every number but that of the DID's entries; nothing is recorded."""

        async def scenario() -> None:
            for n in range(2):
                await ledger.append(DID, b"%d" % n, expected_version=n)
            with pytest.raises(VersionConflict):
                await ledger.append(DID, b"wrong", expected_version=expected)
            assert [line.entry for line in await ledger.entries(DID)] == [b"0", b"1"]
            assert (await ledger.append(DID, b"right", expected_version=2)).sequence == 3

        run(scenario())

    def test_the_same_append_again_is_a_conflict(self, ledger: LedgerBackend) -> None:
        """A writer that lost an answer and asks again is told apart from one that is first; nothing is recorded twice."""

        async def scenario() -> None:
            receipt = await ledger.append(DID, b"same", expected_version=0)
            for _ in range(2):
                with pytest.raises(VersionConflict):
                    await ledger.append(DID, b"same", expected_version=0)
            assert [line.receipt for line in await ledger.entries(DID)] == [receipt]

        run(scenario())

    @pytest.mark.parametrize("limit", [1, 2, 7, 23, 1000])
    def test_pages_are_exact(self, ledger: LedgerBackend, limit: int) -> None:
        """``entries_after`` gives at most ``limit`` entries, none twice, none left out, and nothing behind the end."""

        async def scenario() -> None:
            for n in range(23):
                await ledger.append(f"did:x:{n % 5}", b"%d" % n, expected_version=n // 5)
            lines: list[LedgerEntry] = []
            while len(lines) < 23:
                page = await ledger.entries_after(len(lines), limit)
                assert len(page) == min(limit, 23 - len(lines))
                lines.extend(page)
            assert [line.entry for line in lines] == [b"%d" % n for n in range(23)]
            assert list(await ledger.entries_after(22, limit)) == lines[22:]
            assert list(await ledger.entries_after(10_000, limit)) == []

        run(scenario())

    def test_the_entries_of_a_did_come_in_pages(self, ledger: LedgerBackend) -> None:
        """``entries`` goes on behind a version and stops at a limit; ``log_size`` tells how long they are together."""

        async def scenario() -> None:
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
            assert await ledger.log_size("did:x:nobody") == LogSize(0, 0)

        run(scenario())

    def test_entries_are_opaque(self, ledger: LedgerBackend) -> None:
        """Every sequence of octets comes back as it was, up to 16 KiB."""

        async def scenario() -> None:
            entries = (*NASTY_ENTRIES, os.urandom(16_384))
            for n, entry in enumerate(entries):
                await ledger.append(DID, entry, expected_version=n)
            found = await ledger.entries(DID)
            assert [line.entry for line in found] == list(entries)
            assert all(type(line.entry) is bytes for line in found)
            assert [line.entry for line in await whole(ledger)] == list(entries)

        run(scenario())

    def test_dids_are_compared_exactly(self, ledger: LedgerBackend) -> None:
        """Case, blanks, accents and their composed forms all count."""

        async def scenario() -> None:
            for did in NASTY_DIDS:
                await ledger.append(did, did.encode(), expected_version=0)
            for did in NASTY_DIDS:
                found = await ledger.entries(did)
                assert [(line.did, line.version, line.entry) for line in found] == [(did, 1, did.encode())]

        run(scenario())

    def test_the_hash_tells_what_was_recorded(self, ledger: LedgerBackend) -> None:
        """The same bytes under another DID or version have another transaction hash."""

        async def scenario() -> None:
            places = [("did:x:a", 0), ("did:x:a", 1), ("did:x:b", 0), ("did:x:a1", 0)]
            receipts = [await ledger.append(did, b"same", expected_version=version) for did, version in places]
            assert len({receipt.transaction_hash for receipt in receipts}) == len(places)

        run(scenario())

    def test_closing_twice_is_no_error_and_ends_it(self, ledger: LedgerBackend) -> None:
        """After ``close``, if there is one, an append raises ``LedgerUnavailable``."""

        async def scenario() -> None:
            await ledger.append(DID, b"1", expected_version=0)
            await close(ledger)
            await close(ledger)
            if hasattr(ledger, "close"):
                with pytest.raises(LedgerUnavailable):
                    await ledger.append(DID, b"2", expected_version=1)

        run(scenario())

    def test_it_outlives_its_process(self, ledger: LedgerBackend, reopen: Callable[[], LedgerBackend] | None) -> None:
        """What was acknowledged is there after a restart; numbers, order and conflicts go on where they were."""
        if reopen is None:
            pytest.skip("this ledger gives no fixture 'reopen'")

        async def scenario() -> None:
            receipts = [await ledger.append(DID, b"%d" % n, expected_version=n) for n in range(3)]
            await close(ledger)
            again = reopen()
            try:
                assert [line.receipt for line in await again.entries(DID)] == receipts
                assert await again.head() == LedgerHead(receipts[-1].sequence, receipts[-1].block_number)
                with pytest.raises(VersionConflict):
                    await again.append(DID, b"wrong", expected_version=2)
                await again.append(DID, b"3", expected_version=3)
                lines = await whole(again)
                assert [line.entry for line in lines] == [b"0", b"1", b"2", b"3"]
                check_lines(lines, shared_chain=self.shared_chain)
            finally:
                await close(again)

        run(scenario())
