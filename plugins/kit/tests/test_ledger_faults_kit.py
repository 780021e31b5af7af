"""The fault kit must fail ledgers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.ledger_faults import LedgerFaultConformance

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import LedgerEntry, LedgerHead, LogSize, Receipt

START = datetime(2026, 1, 2, tzinfo=UTC)


class Sound:
    """A file of JSON lines under a lock file, which is away while a file ``away`` lies beside it."""

    patience_seconds = LedgerFaultConformance.recovery_seconds

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger"
        self.path.touch()

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        await asyncio.sleep(0.001)
        self.look()
        with self.locked():
            return self._store(did, entry, expected_version)

    def _store(self, did: str, entry: bytes, expected_version: int) -> Receipt:
        lines = self.read()
        if sum(line.did == did for line in lines) != expected_version:
            raise VersionConflict
        self.write(did, entry, expected_version)
        return self.receipt(len(lines) + 1, did, expected_version + 1, entry.hex())

    def write(self, did: str, entry: bytes, expected_version: int) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps([did, expected_version + 1, entry.hex()]) + "\n")

    def read(self, path: Path | None = None) -> list[LedgerEntry]:
        rows = [json.loads(line) for line in (path or self.path).read_text().splitlines()]
        return [
            LedgerEntry(did, version, bytes.fromhex(entry), self.receipt(n, did, version, entry))
            for n, (did, version, entry) in enumerate(rows, 1)
        ]

    def receipt(self, sequence: int, *said: object) -> Receipt:
        digest = hashlib.sha256(repr(said).encode()).hexdigest()
        return Receipt(digest, sequence, sequence, START + timedelta(seconds=sequence))

    def look(self) -> None:
        if (self.folder / "away").exists():
            raise LedgerUnavailable

    @contextmanager
    def locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        self.look()
        return [line for line in self.read() if line.did == did][after:][:limit]

    async def log_size(self, did: str) -> LogSize:
        lines = await self.entries(did)
        return LogSize(len(lines), sum(len(line.entry) for line in lines))

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        self.look()
        return self.read()[sequence : sequence + limit]

    async def head(self) -> LedgerHead:
        self.look()
        return LedgerHead(len(self.read()), len(self.read()))


class HoldsItsLockWhileItWaits(Sound):
    """The lock stays held until the event loop has come round."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.turn = asyncio.Lock()

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        async with self.turn:
            with (self.folder / "lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise LedgerUnavailable from None
                await asyncio.sleep(0.005)
                return self._store(did, entry, expected_version)


class ReadsFirst(Sound):
    """Learns of an outage when it reads, so that none comes in the middle of an append."""

    is_away = False

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        if self.is_away:
            raise LedgerUnavailable
        with self.locked():
            return self._store(did, entry, expected_version)

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        await asyncio.sleep(0.001)
        self.is_away = (self.folder / "away").exists()
        if self.is_away:
            raise LedgerUnavailable
        return [line for line in self.read() if line.did == did][after:][:limit]


class AcknowledgesBeforeItWrites(Sound):
    """The disk gets it when the ledger is closed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.stored, self.path = self.path, folder / f"memory-{os.getpid()}"
        self.path.write_text(self.stored.read_text())

    async def close(self) -> None:
        self.stored.write_text(self.path.read_text())


class LocksNothing(Sound):
    """Sound for one process; with two, both find the same version."""

    def _store(self, did: str, entry: bytes, expected_version: int) -> Receipt:
        lines = self.read()
        if sum(line.did == did for line in lines) != expected_version:
            raise VersionConflict
        # The first has read and waits for the other: chance does not decide whether they meet. Not an await, so that no other task
        # of this process runs in between.
        (self.folder / f"read-{os.getpid()}").touch()
        until = time.monotonic() + self.patience_seconds
        while len([*self.folder.glob("read-*")]) < 2 and time.monotonic() < until:
            time.sleep(0.001)
        self.write(did, entry, expected_version)
        return self.receipt(len(lines) + 1, did, expected_version + 1, entry.hex())

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield


class GuessesSuccess(Sound):
    """Once, before it tells anybody of the outage, which ends as soon as it has told."""

    has_guessed = False

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        try:
            return await super().append(did, entry, expected_version=expected_version)
        except LedgerUnavailable:
            if self.has_guessed:
                raise
            self.has_guessed = True
            return self.receipt(len(self.read()) + 1, did, expected_version + 1, entry.hex())


class LeaksItsError(Sound):
    def look(self) -> None:
        if (self.folder / "away").exists():
            raise ConnectionResetError


class SaysNotRecordedOfWhatIs(Sound):
    """The commit is done, its answer lost, and the outcome was not looked up."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        if (self.folder / "away").exists():
            raise LedgerUnavailable(details={"outcome": "not recorded"})
        return receipt

    def look(self) -> None:
        """Writes all the time."""


class SendsItAgain(Sound):
    """A ledger that sends again what it could not send, whatever has been recorded meanwhile."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.unsent: list[tuple[str, bytes]] = []

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        try:
            receipt = await super().append(did, entry, expected_version=expected_version)
        except LedgerUnavailable:
            self.unsent.append((did, entry))
            raise
        while self.unsent:
            again, data = self.unsent.pop()
            self._store(again, data, len(await self.entries(again)))
        return receipt


class LosesItsTail(Sound):
    """Comes back from the last backup."""

    def look(self) -> None:
        if (self.folder / "away").exists():
            if not (self.folder / "lost").exists():
                (self.folder / "lost").touch()
                self.path.write_text("".join(self.path.read_text().splitlines(keepends=True)[:-3]))
            raise LedgerUnavailable


class NeverComesBack(Sound):
    patience_seconds = 3.0
    gone = False

    def look(self) -> None:
        self.gone = self.gone or (self.folder / "away").exists()
        if self.gone:
            raise LedgerUnavailable


class KeepsTwoCopies(Sound):
    """A reader of a DID gets one, an auditor the other."""

    def write(self, did: str, entry: bytes, expected_version: int) -> None:
        super().write(did, entry, expected_version)
        (self.folder / "copy").write_text(self.path.read_text())

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return self.read(self.folder / "copy")[sequence : sequence + limit]


class ShowsAnOldCopy(KeepsTwoCopies):
    """An auditor sees what was there once."""

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return [line for line in self.read(self.folder / "copy") if line.did == did][after:][:limit]


BROKEN: dict[type[Sound], tuple[str, str]] = {
    AcknowledgesBeforeItWrites: (
        "test_a_killed_process_loses_nothing_that_it_acknowledged",
        "acknowledged and lost",
    ),
    LocksNothing: ("test_processes_that_race_leave_no_fork_and_no_gap", "a gap or a double"),
    GuessesSuccess: ("test_an_outage_is_told_and_nothing_is_guessed", "acknowledged and lost"),
    SaysNotRecordedOfWhatIs: ("test_an_outage_is_told_and_nothing_is_guessed", "told as not recorded, and there"),
    LosesItsTail: ("test_an_outage_is_told_and_nothing_is_guessed", "acknowledged and lost"),
    NeverComesBack: ("test_an_outage_is_told_and_nothing_is_guessed", "does not come back"),
    LeaksItsError: ("test_asked_again_after_an_outage_it_is_recorded_once", "neither a receipt nor"),
    SendsItAgain: ("test_asked_again_after_an_outage_it_is_recorded_once", "recorded twice"),
    KeepsTwoCopies: ("test_a_forged_entry_is_found", "two stories"),
    ShowsAnOldCopy: ("test_a_forged_entry_is_found", "not found by an auditor"),
}
PROMISES = [name for name, _ in inspect.getmembers(LedgerFaultConformance) if name.startswith("test_")]


@contextmanager
def away(folder: Path) -> Iterator[None]:
    (folder / "away").touch()
    try:
        yield
    finally:
        (folder / "away").unlink()


@contextmanager
def locked_away(folder: Path) -> Iterator[None]:
    """A neighbour has the lock, for which he waits no longer than the kit."""
    until = time.monotonic() + Sound.patience_seconds
    with (folder / "lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < until, "the ledger never gives its lock back"
                time.sleep(0.0005)
        yield


def examine(
    make: type[Sound], promise: str, folder: Path, outage: Callable[[Path], AbstractContextManager[None]] = away
) -> None:
    """Raises what the kit's test raises."""

    class Kit(LedgerFaultConformance):
        recovery_seconds = make.patience_seconds

    def tamper(sequence: int, entry: bytes) -> None:
        lines = (folder / "ledger").read_text().splitlines()
        did, version, _ = json.loads(lines[sequence - 1])
        lines[sequence - 1] = json.dumps([did, version, entry.hex()])
        (folder / "ledger").write_text("\n".join(lines) + "\n")

    fixtures: dict[str, Any] = {
        "ledger": make(folder),
        "reopen": lambda: make(folder),
        "outage": lambda: outage(folder),
        "tamper": tamper,
    }
    test: Callable[..., None] = getattr(Kit(), promise)
    test(**{name: fixtures[name] for name in inspect.signature(test).parameters})


@pytest.mark.parametrize("promise", PROMISES)
def test_a_sound_ledger_passes(promise: str, tmp_path: Path) -> None:
    examine(Sound, promise, tmp_path)


@pytest.mark.parametrize("promise", [promise for promise in PROMISES if "outage" in promise])
def test_an_outage_may_wait_for_the_ledger(promise: str, tmp_path: Path) -> None:
    examine(HoldsItsLockWhileItWaits, promise, tmp_path, locked_away)


def test_an_outage_is_told_also_where_nobody_was_appending(tmp_path: Path) -> None:
    examine(ReadsFirst, "test_an_outage_is_told_and_nothing_is_guessed", tmp_path)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_ledger_fails_where_it_is_broken(broken: type[Sound], tmp_path: Path) -> None:
    promise, says = BROKEN[broken]
    with pytest.raises((AssertionError, Failed), match=says):
        examine(broken, promise, tmp_path)


def test_every_promise_has_a_ledger_that_breaks_it() -> None:
    assert {promise for promise, _ in BROKEN.values()} == set(PROMISES)
