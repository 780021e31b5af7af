"""The ledger kit must fail ledgers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from _pytest.outcomes import Failed, Skipped
from identity_kit.conformance.ledger import LedgerConformance
from identity_ledger_memory import MemoryLedger

from identity_codec.values import replace
from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, LedgerHead, LogSize, Receipt


class Clock:
    """Goes back a second at every look."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 2, tzinfo=UTC)

    def now(self) -> datetime:
        self.time -= timedelta(seconds=1)
        return self.time

    def monotonic(self) -> float:
        return 0.0


class Sound(MemoryLedger):
    def __init__(self) -> None:
        super().__init__(Clock())


class ConflictTakesItsGroup(Sound):
    """One commit for all who wait, and one refusal for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[str, bytes, int, asyncio.Future[Receipt]]] = []

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((did, entry, expected_version, future))
        await asyncio.sleep(0)
        group, self._waiting = self._waiting, []
        try:
            for member in group:
                member[3].set_result(await super().append(member[0], member[1], expected_version=member[2]))
        except VersionConflict as conflict:
            for member in group:
                if not member[3].done():
                    member[3].set_exception(VersionConflict(str(conflict)))
        return await future


class ChecksThenWaits(Sound):
    """The check and the write are two steps, and another writer comes in between."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        if len(self._of_did.get(did, [])) != expected_version:
            raise VersionConflict
        await asyncio.sleep(0)
        return await super().append(did, entry, expected_version=len(self._of_did.get(did, [])))


class IgnoresTheVersion(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        return await super().append(did, entry, expected_version=len(self._of_did.get(did, [])))


class AcceptsOldVersions(Sound):
    """An update that replaces."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        known = self._of_did.get(did, [])
        if 0 <= expected_version < len(known):
            known[expected_version] = replace(known[expected_version], entry=entry)
            return known[expected_version].receipt
        return await super().append(did, entry, expected_version=expected_version)


class AnswersAgain(Sound):
    """A ledger that returns the same receipt for a repeated request, so that two callers were first."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        for line in self._of_did.get(did, []):
            if (line.version, line.entry) == (expected_version + 1, entry):
                return line.receipt
        return await super().append(did, entry, expected_version=expected_version)


class ConflictsLeaveGaps(Sound):
    """A sequence drawn before the check, as databases do it."""

    drawn = 0

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        self.drawn += 1
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = replace(self._lines[-1], receipt=replace(receipt, sequence=self.drawn))
        self._lines[-1] = self._of_did[did][-1] = line
        return line.receipt


class NewestFirst(Sound):
    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return (await super().entries(did, after=after, limit=limit))[::-1]


class LogsHaveNoLimit(Sound):
    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return await super().entries(did, after=after)


class LogsBeginAgain(Sound):
    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return await super().entries(did, limit=limit)


class MeasuresTheWholeLedger(Sound):
    async def log_size(self, did: str) -> LogSize:
        return LogSize(len(self._lines), sum(len(line.entry) for line in self._lines))


class PagesOverlap(Sound):
    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return self._lines[sequence - 1 if sequence > 1 else sequence :][:limit]


class PagesHaveNoLimit(Sound):
    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return self._lines[sequence:]


class HeadLagsBehind(Sound):
    async def head(self) -> LedgerHead:
        return LedgerHead(max(0, len(self._lines) - 1), len(self._lines))


class CutsAtNul(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        return await super().append(did, entry.split(b"\0")[0], expected_version=expected_version)


class FoldsCase(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        return await super().append(did.lower(), entry, expected_version=expected_version)

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return await super().entries(did.lower(), after=after, limit=limit)


class BelievesItsClock(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = replace(self._lines[-1], receipt=replace(receipt, recorded_at=self._clock.now()))
        self._lines[-1] = self._of_did[did][-1] = line
        return line.receipt


class LocalTime(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = replace(self._lines[-1], receipt=replace(receipt, recorded_at=receipt.recorded_at.replace(tzinfo=None)))
        self._lines[-1] = self._of_did[did][-1] = line
        return line.receipt


class HashesTheEntryAlone(Sound):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = replace(self._lines[-1], receipt=replace(receipt, transaction_hash=entry.hex().ljust(64, "0")[:64]))
        self._lines[-1] = self._of_did[did][-1] = line
        return line.receipt


class AnswersBeforeItWrites(Sound):
    """A writer that is cancelled has a receipt's worth of numbers, and no entry."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = self._lines.pop()
        self._of_did[did].pop()
        await asyncio.sleep(0)
        self._lines.append(line)
        self._of_did[did].append(line)
        return receipt


class GoesOnAfterClose(Sound):
    async def close(self) -> None:
        pass


class ClosesOnce(Sound):
    async def close(self) -> None:
        if self._closed:
            raise LedgerUnavailable("closed")
        self._closed = True


BROKEN = {
    ConflictTakesItsGroup: "test_a_conflict_fails_alone",
    ChecksThenWaits: "test_parallel_appends_of_one_version_have_one_winner",
    IgnoresTheVersion: "test_a_wrong_version_is_a_conflict",
    AcceptsOldVersions: "test_a_wrong_version_is_a_conflict",
    AnswersAgain: "test_the_same_append_again_is_a_conflict",
    ConflictsLeaveGaps: "test_a_conflict_fails_alone",
    NewestFirst: "test_appended_entry_is_found",
    LogsHaveNoLimit: "test_the_entries_of_a_did_come_in_pages",
    LogsBeginAgain: "test_the_entries_of_a_did_come_in_pages",
    MeasuresTheWholeLedger: "test_the_entries_of_a_did_come_in_pages",
    PagesOverlap: "test_pages_are_exact",
    PagesHaveNoLimit: "test_pages_are_exact",
    HeadLagsBehind: "test_appended_entry_is_found",
    CutsAtNul: "test_entries_are_opaque",
    FoldsCase: "test_dids_are_compared_exactly",
    BelievesItsClock: "test_appended_entry_is_found",
    LocalTime: "test_appended_entry_is_found",
    HashesTheEntryAlone: "test_the_hash_tells_what_was_recorded",
    AnswersBeforeItWrites: "test_parallel_appends_of_one_version_have_one_winner",
    GoesOnAfterClose: "test_closing_twice_is_no_error_and_ends_it",
    ClosesOnce: "test_closing_twice_is_no_error_and_ends_it",
}


def failures(make: type[LedgerBackend], reopen: Callable[[], LedgerBackend] | None = None) -> set[str]:
    """The names of the kit's tests that ``make`` does not pass."""
    failed = set()
    for name, test in inspect.getmembers(LedgerConformance, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        for arguments in _cases(test):
            if "reopen" in inspect.signature(test).parameters:
                arguments = {**arguments, "reopen": reopen}
            try:
                test(LedgerConformance(), ledger=make(), **arguments)
            except Skipped:
                pass
            except (Exception, Failed):
                failed.add(name)
    return failed


def _cases(test: Callable[..., None]) -> Iterator[dict[str, object]]:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        yield {}
    for mark in marks:
        for value in mark.args[1]:
            yield {mark.args[0]: value}


def test_a_sound_ledger_passes() -> None:
    assert failures(Sound) == set()


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_ledger_fails_where_it_is_broken(broken: type[LedgerBackend]) -> None:
    assert BROKEN[broken] in failures(broken)


def test_a_ledger_that_forgets_fails_the_restart() -> None:
    assert failures(Sound, reopen=Sound) == {"test_it_outlives_its_process"}
