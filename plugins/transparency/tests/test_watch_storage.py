"""The watch over the databases: what it remembers is on the disk, seldom written and never behind; what it sees stops the writers."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_ledger_memory import MemoryLedger
from identity_records.audit import audit_of
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.use_cases.storage import CheckStorage
from identity_transparency.use_cases.watch import QUIET_SECONDS, REST_SECONDS, WatchStorage

from identity_core.errors import LedgerUnavailable, StorageMismatch
from identity_core.ports.ledger import LedgerHead
from identity_core.use_cases.background import Repeating
from tests.did_use_cases import MovableClock
from tests.events import AuditRow, write_rows
from tests.transparency import LoggedLedger, run


class Memory:
    """Notes what is saved, and may be broken."""

    def __init__(self) -> None:
        self.saved: list[Remembered] = []
        self.broken = False

    def load(self) -> Remembered | None:
        return self.saved[-1] if self.saved else None

    def save(self, remembered: Remembered) -> None:
        if self.broken:
            raise OSError("read-only file system")
        self.saved.append(remembered)


class Other(Repeating):
    """A job without anything to do."""

    complaint = "it does nothing"

    async def step(self) -> None:
        pass


class Watched(LoggedLedger):
    """A log with a watch over it that looks when a test says so."""

    def __init__(self, folder: Path, ledger: Any = None) -> None:
        super().__init__(folder, ledger=ledger)
        self.memory = Memory()
        self.check = CheckStorage(self.ledger, self.store.documents, self.tree)
        self.watch = WatchStorage(self.check, self, audit_of(self.store), self.memory, 10.0, self.clock)

    async def audit(self) -> None:
        row = AuditRow(datetime(2026, 1, 1, tzinfo=UTC), "r", "test", None, None, None, "done", {})
        await write_rows(self.store, (row,))


async def _grown(one: Watched, size: int) -> None:
    async with asyncio.timeout(60):
        while (await one.tree.frontier()).size < size:
            await asyncio.sleep(0.01)


def test_it_writes_seldom_and_only_what_is_new(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = Watched(tmp_path)
        for _ in range(5):
            await one.append(3, f"did:{_}:")
            await one.audit()
            await one.watch.guarded()
        assert [note.checkpoint.size for note in one.memory.saved] == [3]
        one.clock.move(seconds=10)
        await one.watch.guarded()
        assert [(note.checkpoint.size, note.audit_lines) for note in one.memory.saved] == [(3, 1), (15, 5)]
        for _ in range(3):
            one.clock.move(seconds=10)
            await one.watch.guarded()
        assert len(one.memory.saved) == 2
        await one.audit()
        await one.watch.close()
        assert one.memory.saved[-1].audit_lines == 6
        await one.check.remembered(one.memory.saved[-1], one.signer.keys)
        await one.close()

    run(scenario())


def test_noted_checkpoint_was_durable_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit lines are not durable by themselves: a loss of power would leave a store that is behind its note."""

    async def scenario() -> None:
        one = Watched(tmp_path)
        order: list[str] = []
        write, save = one.store.database.write, one.memory.save

        def written(job: Any, *, durable: bool = True) -> Any:
            order.append("durable" if durable else "lazy")
            return write(job, durable=durable)

        def saved(remembered: Remembered) -> None:
            order.append("note")
            save(remembered)

        monkeypatch.setattr(one.store.database, "write", written)
        monkeypatch.setattr(one.memory, "save", saved)
        await one.append(3)
        await one.audit()
        await one.watch.guarded()
        assert order[-2:] == ["durable", "note"]
        await one.close()

    run(scenario())


def test_a_place_that_cannot_be_written_is_said_and_tried_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = Watched(tmp_path)
        one.memory.broken = True
        await one.append(3)
        await one.watch.guarded()
        assert "read-only" in one.watch.unremembered
        assert one.watch.mismatch is None
        one.memory.broken = False
        one.clock.move(seconds=10)
        await one.watch.guarded()
        assert one.watch.unremembered == ""
        assert len(one.memory.saved) == 1
        await one.close()

    run(scenario())


@pytest.mark.parametrize(
    ("file", "harm"),
    [
        ("ledger.sqlite", "DELETE FROM ledger_entries WHERE sequence > 2"),
        ("identity.sqlite", "DELETE FROM audit_lines WHERE sequence = 2"),
        ("identity.sqlite", "UPDATE audit_lines SET link = zeroblob(32) WHERE sequence = 2"),
        ("identity.sqlite", "UPDATE transparency_tiles SET hashes = zeroblob(96)"),
        ("identity.sqlite", "DELETE FROM transparency_tiles"),
    ],
)
def test_a_mismatch_holds_up_the_writers_and_is_not_remembered(tmp_path: Path, file: str, harm: str) -> None:
    class Writer(Repeating):
        complaint = "the writer rests"
        steps = 0

        async def step(self) -> float:
            self.steps += 1
            return 1.0

    async def scenario() -> None:
        one, writer = Watched(tmp_path), Writer()
        one.watch.hold_up(writer, None)
        await one.append(3)
        for _ in range(2):
            await one.audit()
        await one.watch.guarded()
        await writer.guarded()
        assert (writer.steps, one.watch.mismatch) == (1, None)
        with closing(sqlite3.connect(tmp_path / file)) as thief, thief:
            for (trigger,) in thief.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                thief.execute(f"DROP TRIGGER {trigger}")
            thief.execute(harm)
        one.clock.move(seconds=10)
        await one.watch.guarded()
        assert isinstance(one.watch.mismatch, StorageMismatch)
        await writer.guarded()
        await one.watch.close()
        assert (writer.steps, len(one.memory.saved)) == (1, 1)
        await one.close()

    run(scenario())


def test_the_file_never_goes_back(tmp_path: Path) -> None:
    """Processes write as they come; one that is late does no harm."""

    async def scenario() -> tuple[Remembered, Remembered]:
        one = Watched(tmp_path)
        await one.append(3)
        await one.watch.guarded()
        await one.append(3, "did:y:")
        one.clock.move(seconds=10)
        await one.watch.guarded()
        await one.close()
        early, late = one.memory.saved
        return early, late

    early, late = run(scenario())
    file = CheckpointFile(tmp_path / "note")
    assert file.load() is None
    for each in (early, late, early):
        file.save(each)
    assert file.load() == late
    file.replace(early)
    assert file.load() == early
    assert [path.name for path in tmp_path.glob("*note*")] == ["note"]


def test_the_log_follows_the_ledger_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(WatchStorage, "interval_seconds", 0.01)

    class Shaky(MemoryLedger):
        down = False
        refusals = 0

        async def head(self) -> LedgerHead:
            if self.down:
                self.refusals += 1
                raise LedgerUnavailable("gone for a walk")
            return await super().head()

    async def scenario() -> None:
        ledger = Shaky(MovableClock())
        one = Watched(tmp_path, ledger)
        one.watch.begin()
        await one.append(5)
        await _grown(one, 5)
        ledger.down = True
        async with asyncio.timeout(60):
            while ledger.refusals < 5:
                await asyncio.sleep(0.01)
        ledger.down = False
        await one.append(5, "did:y:")
        await _grown(one, 10)
        await one.watch.close()
        await one.close()

    with caplog.at_level(logging.ERROR, logger="identity"):
        run(scenario())
    assert [record.getMessage().count("gone for a walk") for record in caplog.records] == [1]


def test_resting_jobs_are_called_when_an_end_moves(tmp_path: Path) -> None:
    """On a server the ends of ledger and audit log are read at each step, and everything else when one of them has moved."""

    async def scenario() -> None:
        one = Watched(tmp_path)
        looks, other = 0, Other()
        look = one.watch.look

        async def counted() -> None:
            nonlocal looks
            looks += 1
            await look()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WatchStorage, "look", lambda _: counted())
            one.watch.spare(other, None)
            # A part that is opened later adds its own job.
            one.watch.spare(Other())
            assert await other.guarded() == REST_SECONDS
            for change in (None, one.append(1), one.audit()):
                if change is not None:
                    await change
                before = other.called.next_change()
                assert (await one.watch.step(), before.is_set()) == (None, True)
                after = other.called.next_change()
                assert (await one.watch.step(), after.is_set()) == (QUIET_SECONDS, False)
            assert looks == 3
            one.clock.move(seconds=REST_SECONDS)
            assert (await one.watch.step(), looks) == (QUIET_SECONDS, 4)
        await one.close()

    run(scenario())


def test_job_of_the_log_rests_until_it_grows(tmp_path: Path) -> None:
    """A feeder read the ledger each second on SQLite, also while nothing was recorded."""

    async def scenario() -> None:
        one, other = Watched(tmp_path), Other()
        one.watch.wake(other)
        await one.append(1)
        assert await other.guarded() == REST_SECONDS
        for grow, is_called in (
            (None, True),
            (None, False),
            (lambda: one.append(1, "did:b:"), True),
            (one.audit, False),
        ):
            if grow is not None:
                await grow()
            change = other.called.next_change()
            await one.watch.step()
            assert change.is_set() is is_called
        await one.close()

    run(scenario())


def test_news_of_a_server_is_noted_in_time(tmp_path: Path) -> None:
    """A move between two notes is noted at the end of the interval, although nothing moves then."""

    async def scenario() -> None:
        one = Watched(tmp_path)
        one.watch.spare(Other())
        for _ in range(3):
            await one.audit()
            await one.watch.step()
        assert [note.audit_lines for note in one.memory.saved] == [1]
        one.memory.broken = True
        one.clock.move(seconds=10)
        await one.watch.step()
        one.memory.broken = False
        for _ in range(3):
            one.clock.move(seconds=10)
            await one.watch.step()
        assert [note.audit_lines for note in one.memory.saved] == [1, 3]
        await one.close()

    run(scenario())
