"""Lines of the audit log that are past their time go, and what stays proves that nothing else went; on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_records.audit import GENESIS, ChainHead, audit_of
from identity_records.chain import CUT, check_kept, follow, follow_export
from identity_records.use_cases import audit
from identity_records.use_cases.audit import ANEW_SECONDS, NEXT_SECONDS, CheckAuditChain, CutAuditLog, FollowAuditChain

from identity_core.errors import StorageMismatch
from identity_core.store import Store
from identity_core.use_cases.background import FEWEST, HELD_SECONDS, SOON_SECONDS
from tests.did_use_cases import MovableClock
from tests.events import AuditRow, event_of, from_line, insert_rows

DAY = timedelta(days=1)
NOW = datetime(2026, 3, 10, 15, tzinfo=UTC)


def row(at: datetime) -> AuditRow:
    return AuditRow(at, "r-1", "createDid", "key:k", "ffff", "did:x:y", "done", {})


async def lines(store: Store, *days_ago: float) -> None:
    for days in days_ago:
        at = NOW - days * DAY
        await store.database.write(lambda transaction, at=at: insert_rows(store, transaction, (row(at),)))


async def stored(store: Store) -> list[int]:
    sql = "SELECT sequence FROM audit_lines ORDER BY sequence"
    return [one for (one,) in await store.database.read(lambda transaction: transaction.execute(sql).fetchall())]


async def execute(store: Store, sql: str, **values: Any) -> None:
    await store.database.write(lambda transaction: transaction.execute(sql, values).rowcount)


def sweeper(store: Store, days: float = 5) -> CutAuditLog:
    return CutAuditLog(audit_of(store), days * DAY, MovableClock(NOW), lambda: 0.0)


def run_story(store: Store, story: Callable[[], Awaitable[None]]) -> None:
    async def keyed() -> None:
        await audit_of(store).key_from_here()
        await story()

    asyncio.run(keyed())


async def check(store: Store) -> int:
    """Follows what there is as `identity audit verify` does, with the keys and without; the number of the last line."""
    found, head = await audit_of(store).chain(after=0, limit=1_000), await audit_of(store).head()
    assert head is not None
    reached = follow(await audit_of(store).cut(), found)
    check_kept(reached, head)
    assert follow_export(found) == (await audit_of(store).cut(), reached)
    assert await audit_of(store).is_whole()
    checked = await CheckAuditChain(audit_of(store))()
    assert (checked.verified, checked.broken) == (reached.sequence, "")
    return reached.sequence


def test_old_lines_go_in_whole_days_and_the_chain_holds(store: Store) -> None:
    async def story() -> None:
        # The sixth day ends at midnight: what is of the fifth before this hour stays as well.
        await lines(store, 9, 8, 7, 5.2, 1, 0)
        sweep = sweeper(store)
        link = (await audit_of(store).chain(after=2, limit=1))[0].link
        assert await sweep.step() == SOON_SECONDS
        assert await audit_of(store).cut() == ChainHead(3, link)
        assert [one.sequence for one in await audit_of(store).chain(after=0, limit=99)] == [4, 5, 6, 7], (
            "hidden at once"
        )
        assert await stored(store) == [1, 2, 3, 4, 5, 6, 7]
        assert await check(store) == 7
        assert await sweep.step() == sweep.interval_seconds
        assert await stored(store) == [4, 5, 6, 7]
        assert await check(store) == 7
        last = from_line((await audit_of(store).chain(after=6, limit=1))[0].line)
        assert (last.operation, last.caller, last.details) == (CUT, "service", {"through": 3, "link": link.hex()})
        assert await sweep.step() == sweep.interval_seconds
        assert await check(store) == 7, "what is quiet is not cut again"

    run_story(store, story)


def test_a_log_is_cut_again_and_goes_on_after_a_restart(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 8, 3, 0)
        for days in (7, 2):
            # Another process each time.
            for _ in range(3):
                await sweeper(store, days).step()
        assert await stored(store) == [4, 5, 6]
        await lines(store, 0)
        assert await check(store) == 7

    run_story(store, story)


def test_a_log_of_which_all_is_old_keeps_what_tells_of_it(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 9)
        for _ in range(3):
            await sweeper(store).step()
        assert await stored(store) == [3]
        assert await check(store) == 3

    run_story(store, story)


def test_lines_go_a_few_at_a_time(store: Store) -> None:
    async def story() -> None:
        await lines(store, *[9] * 7)
        (last,) = await audit_of(store).chain(after=6, limit=1)
        assert await audit_of(store).cut_through(ChainHead(7, last.link), event_of(row(NOW)))
        assert [await audit_of(store).drop_cut(limit=3) for _ in range(4)] == [3, 3, 1, 0]

    run_story(store, story)


@dataclass
class SlowLog:
    """A log with cut lines without end, that needs long for each."""

    now: float = 0.0
    limits: list[int] = field(default_factory=list)

    async def drop_cut(self, *, limit: int) -> int:
        self.limits.append(limit)
        self.now += limit * HELD_SECONDS
        return limit


def test_steps_are_as_long_as_the_writer_may_be_held() -> None:
    log = SlowLog()
    sweep = CutAuditLog(log, DAY, MovableClock(), lambda: log.now)  # type: ignore[arg-type]
    assert [asyncio.run(sweep.step()) for _ in range(9)] == [SOON_SECONDS] * 9
    assert log.limits[-1] == FEWEST


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit_lines SET line = line || '' || 'x' WHERE sequence = 2",
        "DELETE FROM audit_lines WHERE sequence = 2",
        "DELETE FROM audit_lines WHERE sequence = 1",
    ],
)
def test_invalid_chain_is_not_cut(store: Store, change: str) -> None:
    async def story() -> None:
        await lines(store, 9, 9, 9, 0)
        if "UPDATE" in change:
            (line,) = await audit_of(store).chain(after=1, limit=1)
            changed = line.line.replace(b"key:k", b"key:m")
            await execute(store, "UPDATE audit_lines SET line = :line WHERE sequence = 2", line=changed)
        else:
            await execute(store, change)
        before = await stored(store)
        with pytest.raises(StorageMismatch, match="is not cut: line"):
            await sweeper(store).step()
        assert (await stored(store), await audit_of(store).cut()) == (before, ChainHead())

    run_story(store, story)


def test_a_log_whose_head_somebody_else_made_is_not_cut(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 9, 0)
        await execute(store, "UPDATE audit_head SET mac = NULL")
        with pytest.raises(StorageMismatch, match="its head was not written by this service"):
            await sweeper(store).step()
        assert (await stored(store), await audit_of(store).cut()) == ([1, 2, 3], ChainHead())

    run_story(store, story)


def test_forged_cut_is_refused_and_deletes_nothing(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 9, 9, 0)
        (line,) = await audit_of(store).chain(after=1, limit=1)
        sql = "UPDATE audit_head SET cut_sequence = 2, cut_link = :link, cut_mac = :mac"
        for mac in (bytes(32), None):
            await execute(store, sql, link=line.link, mac=mac)
            assert await audit_of(store).cut() == ChainHead(0, GENESIS)
            assert await audit_of(store).drop_cut(limit=9) == 0
        assert await stored(store) == [1, 2, 3, 4]
        assert "line 1 is missing" in (await CheckAuditChain(audit_of(store))()).broken

    run_story(store, story)


def test_the_tag_of_one_cut_is_not_that_of_another(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 9, 8, 0)
        await sweeper(store, 7).step()
        await execute(store, "UPDATE audit_head SET cut_sequence = 4")
        assert await audit_of(store).cut() == ChainHead()

    run_story(store, story)


def test_two_who_cut_at_once_cut_once(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 9, 0)
        (line,) = await audit_of(store).chain(after=1, limit=1)
        through = ChainHead(2, line.link)
        done = await asyncio.gather(*(audit_of(store).cut_through(through, event_of(row(NOW))) for _ in range(4)))
        assert sorted(done) == [False, False, False, True]
        assert await check_after(store) == 4
        assert not await audit_of(store).cut_through(ChainHead(3, bytes(32)), event_of(row(NOW))), (
            "another line than there is"
        )
        assert not await audit_of(store).cut_through(ChainHead(9, bytes(32)), event_of(row(NOW))), "no line"

    async def check_after(store: Store) -> int:
        head = await audit_of(store).head()
        assert head is not None
        return head.head.sequence

    run_story(store, story)


def test_edited_line_is_reported_by_chain_job(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In pages, from the front each time: what an earlier pass has seen is looked at again."""
    monkeypatch.setattr(audit, "PAGE", 3)

    async def story() -> None:
        await lines(store, *range(7))
        following = FollowAuditChain(audit_of(store))
        steps = [await following.step() for _ in range(3)]
        assert steps == [NEXT_SECONDS, NEXT_SECONDS, ANEW_SECONDS]
        assert following.broken == ""
        await execute(store, "UPDATE audit_lines SET link = :link WHERE sequence = 5", link=bytes(32))
        assert await audit_of(store).is_whole(), "its head and its end are as they were"
        for _ in range(2):
            assert [await following.step() for _ in range(2)] == [NEXT_SECONDS, ANEW_SECONDS]
            assert "line 5" in following.broken
        assert [one.message for one in caplog.records if "ALARM" in one.message] == [
            f"ALARM: the audit log is not what was written: {following.broken}"
        ], "told once"

    run_story(store, story)


class CutMeanwhile:
    """An audit log of which a part is cut off between two questions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(audit_of(self._store), name)

    async def chain(self, *, after: int, limit: int) -> Any:
        await sweeper(self._store).step()
        return await audit_of(self._store).chain(after=after, limit=limit)


def test_lines_cut_meanwhile_are_not_missed(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 8, 7, 1, 0)
        checking = CheckAuditChain(CutMeanwhile(store))  # type: ignore[arg-type]
        assert (await checking()).broken == ""
        assert (await audit_of(store).cut()).sequence == 3
        checked = await checking()
        assert (checked.verified, checked.broken) == (checked.total, "")

    run_story(store, story)


def test_log_with_foreign_head_cannot_be_cut(store: Store) -> None:
    async def story() -> None:
        await lines(store, 9, 1)
        sweep = sweeper(store)
        await execute(store, "UPDATE audit_head SET mac = :mac", mac=bytes(32))
        assert await sweep.guarded() == sweep.interval_seconds
        assert "its head was not written by this service" in sweep.fault
        await audit_of(store).key_from_here()
        assert await sweep.guarded() == SOON_SECONDS
        assert sweep.fault == ""
        assert (await audit_of(store).cut()).sequence == 1

    run_story(store, story)
