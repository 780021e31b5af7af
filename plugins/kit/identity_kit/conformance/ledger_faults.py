"""The promises of a durable ledger under faults, as tests (``ports/ledger.py``).

An author subclasses it beside ``LedgerConformance``. ``ledger`` and ``reopen`` are the fixtures of that class; two more cause an
outage of its server, and forge a stored entry::

    class TestMyLedger(LedgerConformance, LedgerFaultConformance):
        @pytest.fixture
        def outage(self, server): return lambda: server.stopped()   # a context manager

        @pytest.fixture
        def tamper(self, database): return lambda sequence, entry: database.execute("UPDATE …")

Processes are forked after ``ledger`` was closed, and open it again with ``reopen``. A loss of power, and full or broken disks, are
not tested, because no test can cause them everywhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import ClassVar

import pytest
from identity_transparency.domain.audit import Audit, LogFault
from identity_transparency.use_cases.project import leaf_of

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, Receipt
from identity_kit.conformance.ledger_examined import DID, ExaminedLedger, check_lines, whole
from identity_kit.conformance.ledger_writers import (
    PAUSE_SECONDS,
    Attempts,
    process,
    race,
    received,
    received_rest,
    write_until_killed,
    write_until_told,
)
from identity_kit.conformance.loops import close, own_loop_per_test
from identity_tlog.note import Checkpoint
from identity_tlog.tree import Frontier, leaf_hash

Open = Callable[[], LedgerBackend]
Outage = Callable[[], AbstractContextManager[None]]
Tamper = Callable[[int, bytes], None]

KILLS = 3
ACKNOWLEDGED_BEFORE_A_KILL = 20
TURNS = 8


@own_loop_per_test
class LedgerFaultConformance(ExaminedLedger):
    """The promises of a ledger when processes die, race or lose their server, and when stored entries are forged."""

    recovery_seconds: ClassVar[float] = 60.0

    @pytest.fixture
    def reopen(self) -> Open:
        """Return a function that opens the data of ``ledger`` again, in this process or in another."""
        raise NotImplementedError("give the fixture 'reopen'")

    @pytest.fixture
    def outage(self) -> Outage | None:
        """Return a function whose context is an outage of the ledger's server; None if there is none. The context is entered and
        left on a thread, so it may wait."""
        return None

    @pytest.fixture
    def tamper(self) -> Tamper | None:
        """Return a function that replaces a stored entry without the ledger; None if there is none."""
        return None

    def test_a_killed_process_loses_nothing_that_it_acknowledged(self, ledger: LedgerBackend, reopen: Open) -> None:
        """SIGKILL in the middle of appends: every receipt that was given is true, and the ledger continues."""
        asyncio.run(close(ledger))
        acknowledged: dict[tuple[str, int], Receipt] = {}

        async def check(turn: int) -> None:
            again = reopen()
            try:
                lines = await whole(again)
                check_lines(lines, shared_chain=self.shared_chain)
                found = {(line.did, line.version): line.receipt for line in lines}
                lost = [place for place, receipt in acknowledged.items() if found.get(place) != receipt]
                assert not lost, f"acknowledged and lost: {lost}"
                await self._append(again, f"did:x:after.{turn}", b"it continues")
            finally:
                await close(again)

        for turn in range(KILLS):
            with process(lambda told: write_until_killed(reopen, told)) as (child, told):
                for did, version, receipt in received(told, ACKNOWLEDGED_BEFORE_A_KILL, self.recovery_seconds):
                    acknowledged[did, version] = receipt
                child.kill()
                acknowledged |= {(did, version): receipt for did, version, receipt in received_rest(told)}
            asyncio.run(check(turn))

    def test_processes_that_race_leave_no_fork_and_no_gap(self, ledger: LedgerBackend, reopen: Open) -> None:
        """Two processes append to their own DIDs and to one that they share; each entry is there, once."""
        asyncio.run(close(ledger))
        with (
            process(lambda told: race(reopen, "a", TURNS, told)) as (_, told_a),
            process(lambda told: race(reopen, "b", TURNS, told)) as (_, told_b),
        ):
            for told in (told_a, told_b):
                assert list(received(told, 1, 3 * self.recovery_seconds)) == ["done"]

        async def check() -> None:
            again = reopen()
            try:
                lines = await whole(again)
                check_lines(lines, shared_chain=self.shared_chain)
                shared = [line.entry for line in lines if line.did == DID]
                assert sorted(shared) == sorted(b"%s.%d" % (name, n) for name in (b"a", b"b") for n in range(TURNS))
                assert len(lines) == 4 * TURNS, "an entry is lost or doubled"
            finally:
                await close(again)

        asyncio.run(check())

    async def test_an_outage_is_told_and_nothing_is_guessed(self, ledger: LedgerBackend, outage: Outage | None) -> None:
        """Under load, appends raise ``LedgerUnavailable``; a receipt is true, "not recorded" too, and afterwards it continues."""
        if outage is None:
            pytest.skip("this ledger gives no fixture 'outage'")
        attempts, stop = Attempts(), asyncio.Event()

        writers = [asyncio.create_task(write_until_told(ledger, f"did:x:{n}", attempts, stop)) for n in range(TURNS)]
        await self._until(lambda: len(attempts.acknowledged) >= TURNS, writers)
        async with _beside_the_loop(outage()):
            await self._until(lambda: attempts.refused > 0, writers)
        before = len(attempts.acknowledged)
        await self._until(lambda: len(attempts.acknowledged) >= before + TURNS, writers)
        stop.set()
        await asyncio.gather(*writers)
        lines = await whole(ledger)
        check_lines(lines, shared_chain=self.shared_chain)
        attempts.check(lines)

    async def test_asked_again_after_an_outage_it_is_recorded_once(
        self, ledger: LedgerBackend, outage: Outage | None
    ) -> None:
        """The same append again until there is an answer: a receipt, or ``VersionConflict`` where the first was recorded."""
        if outage is None:
            pytest.skip("this ledger gives no fixture 'outage'")

        await ledger.append(DID, b"before", expected_version=0)
        appends = (ledger.append(f"did:x:{n}", b"once", expected_version=0) for n in range(TURNS))
        async with _beside_the_loop(outage()):
            outcomes = await asyncio.gather(*appends, return_exceptions=True)
        strange = [one for one in outcomes if not isinstance(one, (Receipt, LedgerUnavailable))]
        assert not strange, f"neither a receipt nor LedgerUnavailable: {strange}"
        assert any(isinstance(one, LedgerUnavailable) for one in outcomes), "the outage was none"
        for n in range(TURNS):
            await self._append(ledger, f"did:x:{n}", b"once")
            recorded = [line.entry for line in await ledger.entries(f"did:x:{n}")]
            assert recorded == [b"once"], f"recorded twice, or not at all: {recorded}"
        lines = await whole(ledger)
        assert len(lines) == TURNS + 1, "an entry is lost or doubled"
        check_lines(lines, shared_chain=self.shared_chain)

    async def test_a_forged_entry_is_found(self, ledger: LedgerBackend, reopen: Open, tamper: Tamper | None) -> None:
        """An auditor with a checkpoint finds the ledger sound, and then the entry that was changed; or the ledger refuses."""
        for n in range(5):
            await ledger.append(DID, b"%d" % n, expected_version=n)
        honest = await whole(ledger)
        assert audited(honest, honest) == []
        await close(ledger)
        if tamper is None:
            pytest.skip("this ledger gives no fixture 'tamper'; the auditor finds it sound")
        tamper(3, b"forged")
        again = reopen()
        try:
            lines = await whole(again)
            assert [line for line in lines if line.did == DID] == list(await again.entries(DID)), "two stories"
        except LedgerUnavailable:
            return
        finally:
            await close(again)
        assert "entry 3" in {one.where for one in audited(lines, honest)}, "not found by an auditor"

    async def _append(self, ledger: LedgerBackend, did: str, entry: bytes) -> None:
        """Append the first entry of ``did``, and retry until the ledger is available again."""
        for _ in self._patience():
            try:
                await ledger.append(did, entry, expected_version=0)
                return
            except VersionConflict:
                return
            except LedgerUnavailable:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _until(self, reached: Callable[[], bool], writers: Sequence[asyncio.Task[None]]) -> None:
        for _ in self._patience():
            for writer in writers:
                if writer.done():
                    writer.result()
            if reached():
                return
            await asyncio.sleep(PAUSE_SECONDS)

    def _patience(self) -> Iterator[None]:
        deadline = time.monotonic() + self.recovery_seconds
        while time.monotonic() < deadline:
            yield
        pytest.fail("the ledger does not come back")


@asynccontextmanager
async def _beside_the_loop(outage: AbstractContextManager[None]) -> AsyncIterator[None]:
    """Enter an outage on a thread, because it may wait for a lock that the ledger releases only while its event loop runs."""
    await asyncio.to_thread(outage.__enter__)
    try:
        yield
    finally:
        await asyncio.to_thread(outage.__exit__, None, None, None)


def audited(lines: Sequence[LedgerEntry], honest: Sequence[LedgerEntry]) -> list[LogFault]:
    """Return the findings of an auditor in ``lines``, with a checkpoint over ``honest``."""
    hashes = [leaf_hash(leaf_of(line).encode()) for line in honest]
    tree = Frontier().appended(hashes)
    audit = Audit(Checkpoint("conformance.example", tree.size, tree.root), [])
    audit.feed([leaf_of(line).encode() for line in lines], b"".join(hashes))
    audit.close()
    return audit.findings
