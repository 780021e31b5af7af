"""The audit log: lines in order, chained."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from identity_records import audit
from identity_records.audit import audit_of, next_link

from identity_core.database import Cursor, Transaction
from identity_core.store import Store
from tests.events import ROW, AuditRow, audit_rows, event_of, insert_rows, links_hold, open_store, write_rows

BARE = AuditRow(ROW.at, "r-2", "expireKey", None, None, None, "done", {})


def test_rows_come_back_as_they_went_in(store: Store) -> None:
    async def scenario() -> None:
        await write_rows(store, (ROW,))
        await write_rows(store, (BARE,), durable=True)
        assert list(await audit_rows(audit_of(store), after=0, limit=10)) == [(1, ROW), (2, BARE)]
        assert list(await audit_rows(audit_of(store), after=1, limit=10)) == [(2, BARE)]
        assert list(await audit_rows(audit_of(store), after=0, limit=1)) == [(1, ROW)]

    asyncio.run(scenario())


def test_two_stores_write_one_chain(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        other = open_store(tmp_path, url)
        for _ in range(3):
            await asyncio.gather(*(write_rows(each, (ROW,)) for each in (store, other) for _ in range(10)))
        await other.close()

    asyncio.run(scenario())
    assert links_hold(store)
    assert len(asyncio.run(audit_rows(audit_of(store), after=0, limit=100))) == 60


def test_an_edited_line_breaks_the_chain(store: Store) -> None:
    async def scenario() -> None:
        for _ in range(3):
            await write_rows(store, (ROW,))

    asyncio.run(scenario())
    assert links_hold(store)
    store.database.write_now(
        lambda tx: tx.execute(
            "UPDATE audit_lines SET line = :line WHERE sequence = 2", {"line": audit.to_line(2, event_of(BARE))}
        )
    )
    assert not links_hold(store)


def keyed(folder: Path, url: str | None, *, secret: bytes = b"k" * 32) -> Store:
    return open_store(folder, url, processes=2, secret=secret)


def cut(store: Store, lines: int) -> None:
    """Takes the last lines away; what is left is a chain that holds."""
    newest = "SELECT sequence FROM audit_lines ORDER BY sequence DESC LIMIT :lines"
    store.database.write_now(
        lambda tx: tx.execute(f"DELETE FROM audit_lines WHERE sequence IN ({newest})", {"lines": lines}).rowcount
    )


def test_the_head_says_where_the_chain_ends(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        assert await audit_of(store).key_from_here() == 1
        assert await audit_of(store).is_whole()
        for _ in range(5):
            await write_rows(store, (ROW,))
        kept = await audit_of(store).head()
        assert kept is not None
        assert (kept.head.sequence, kept.keyed_from) == (5, 1)
        assert await audit_of(store).is_whole()
        cut(store, 3)
        assert not await audit_of(store).is_whole()
        # What comes next does not cover it up: a gap stays.
        await write_rows(store, (ROW,))
        assert [number for number, _ in await audit_rows(audit_of(store), after=0, limit=10)] == [1, 2, 6]
        await store.close()

    asyncio.run(scenario())


def test_head_of_another_key_is_refused_after_write(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        await audit_of(store).key_from_here()
        await write_rows(store, (ROW,))
        thief = keyed(tmp_path, url, secret=b"t" * 32)
        cut(thief, 1)
        await audit_of(thief).key_from_here()
        await write_rows(thief, (BARE,))
        assert await audit_of(thief).is_whole()
        for _ in range(2):
            assert await audit_of(store).head() is None
            assert not await audit_of(store).is_whole()
            await write_rows(store, (ROW,))
        assert await audit_of(store).key_from_here() == 4
        await write_rows(store, (ROW,))
        assert await audit_of(store).is_whole()
        for each in (store, thief):
            await each.close()

    asyncio.run(scenario())


def test_lines_that_the_head_does_not_know_stay_and_are_told(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        await audit_of(store).key_from_here()
        await write_rows(store, (ROW,))
        (last,) = await audit_of(store).chain(after=0, limit=10)
        line = audit.to_line(2, event_of(BARE))
        row = {"line": line, "link": next_link(last.link, line)}
        insert = "INSERT INTO audit_lines (sequence, line, link) VALUES (2, :line, :link)"
        store.database.write_now(lambda tx: tx.execute(insert, row).rowcount)
        await write_rows(store, (ROW,))
        assert [found.request_id for _, found in await audit_rows(audit_of(store), after=0, limit=10)] == [
            "r-1",
            "r-2",
            "r-1",
        ]
        assert not await audit_of(store).is_whole()
        await store.close()

    asyncio.run(scenario())


def test_the_head_is_read_only_where_somebody_else_has_written(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        await audit_of(store).key_from_here()
        for _ in range(2):
            await write_rows(store, (ROW,))
        alone = await executed(store)
        assert sum("FROM audit_head" in sql for sql in alone) == 0
        assert sum("UPDATE audit_head" in sql for sql in alone) == 1
        other = keyed(tmp_path, url)
        await write_rows(other, (BARE,))
        assert sum("FROM audit_head" in sql for sql in await executed(store)) == 1
        assert await audit_of(store).is_whole()
        assert links_hold(store)
        await other.close()
        await store.close()

    asyncio.run(scenario())


async def executed(store: Store) -> list[str]:
    """The statements that a line takes."""
    noted: list[str] = []

    class Noting:
        def __init__(self, transaction: Transaction) -> None:
            self.group, self.transaction = transaction.group, transaction

        def execute(self, sql: str, *parameters: Mapping[str, object]) -> Cursor:
            noted.append(sql)
            return self.transaction.execute(sql, *parameters)

        def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> Cursor:
            noted.append(sql)
            return self.transaction.executemany(sql, rows)

    await store.database.write(lambda transaction: insert_rows(store, Noting(transaction), (ROW,)))
    return noted


def test_a_line_that_is_undone_is_not_what_the_next_one_follows(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        await audit_of(store).key_from_here()
        await write_rows(store, (ROW,))

        def raises(transaction: Transaction) -> None:
            insert_rows(store, transaction, (BARE,))
            raise LookupError

        jobs = [store.database.write(raises), write_rows(store, (ROW,)), store.database.write(raises)]
        ended = await asyncio.gather(*jobs, write_rows(store, (ROW,)), return_exceptions=True)
        assert [type(one) for one in ended] == [LookupError, type(None), LookupError, type(None)]
        assert await audit_of(store).is_whole()
        assert links_hold(store)
        assert [row for _, row in await audit_rows(audit_of(store), after=0, limit=10)] == [ROW] * 3
        await store.close()

    asyncio.run(scenario())


def test_edited_head_is_refused_after_write(tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        store = keyed(tmp_path, url)
        await audit_of(store).key_from_here()
        for _ in range(3):
            await write_rows(store, (ROW,))
        store.database.write_now(lambda tx: tx.execute("UPDATE audit_head SET keyed_from = 2 WHERE id = 1").rowcount)
        await write_rows(store, (ROW,))
        assert await audit_of(store).head() is None
        assert not await audit_of(store).is_whole()
        assert links_hold(store)
        await store.close()

    asyncio.run(scenario())
