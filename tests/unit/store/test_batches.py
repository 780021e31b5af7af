"""Jobs that are alike, run as one, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from identity_records.audit import audit_of

from identity_core.database import BatchJob, ConstraintViolated, Database, Transaction
from identity_core.store import Store
from tests.events import AuditRow, insert_rows

ROW = AuditRow(datetime(2026, 1, 2, tzinfo=UTC), "r", "createDid", None, None, None, "done", {})


class Bad(Exception):
    pass


class Many:
    """Writes each item down, notes with what it was called, and refuses batches with an item below zero."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def run(self, transaction: Transaction, items: Sequence[int]) -> list[int]:
        self.calls.append([*items])
        insert = "INSERT INTO transparency_tiles (level, number, hashes) VALUES (?, ?, ?)"
        made = transaction.executemany(insert, [(7, abs(item), b"") for item in items])
        if min(items) < 0:
            raise Bad(items)
        assert made.rowcount == len(items)
        return [item * 10 for item in items]


def together(database: Database, jobs: Sequence[object]) -> list[object]:
    async def scenario() -> list[object]:
        return await asyncio.gather(*(database.write(job) for job in jobs), return_exceptions=True)  # type: ignore[arg-type]

    return asyncio.run(scenario())


def stored_values(store: Store) -> list[int]:
    select = "SELECT number FROM transparency_tiles WHERE level = 7 ORDER BY number"
    return [row[0] for row in store.database.read_now(lambda transaction: transaction.execute(select).fetchall())]


def test_equal_neighbours_share_call_with_own_results(store: Store) -> None:
    many, other = Many(), Many()
    jobs: list[object] = [BatchJob(many.run, 1), BatchJob(many.run, 2), lambda _: "between", BatchJob(many.run, 3)]
    assert together(store.database, [*jobs, BatchJob(other.run, 4)]) == [10, 20, "between", 30, 40]
    assert many.calls == [[1, 2], [3]]
    assert other.calls == [[4]]
    assert stored_values(store) == [1, 2, 3, 4]


def test_error_in_batch_is_isolated(store: Store) -> None:
    many = Many()
    first, bad, last = together(store.database, [BatchJob(many.run, item) for item in (1, -2, 3)])
    assert (first, last) == (10, 30)
    assert isinstance(bad, Bad)
    assert bad.args == ((-2,),)
    assert many.calls == [[1, -2, 3], [1], [-2], [3]]
    assert stored_values(store) == [1, 3]


def test_a_row_that_the_database_refuses_costs_its_own_job_alone(store: Store) -> None:
    many = Many()
    first, twice, last = together(store.database, [BatchJob(many.run, item) for item in (5, 5, 6)])
    assert (first, last) == (50, 60)
    assert isinstance(twice, ConstraintViolated)
    assert stored_values(store) == [5, 6]


def test_cancelled_batch_entry_is_not_run(store: Store) -> None:
    many = Many()

    async def scenario() -> None:
        waiting = [asyncio.ensure_future(store.database.write(BatchJob(many.run, item))) for item in (1, 2, 3)]
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(scenario())
    assert stored_values(store) == [1, 3]


def test_lines_that_come_together_move_head_of_audit_log_once(store: Store) -> None:
    told: list[str] = []

    class Told:
        def __init__(self, transaction: Transaction) -> None:
            self.group, self.execute, self._many = transaction.group, self._record_statement, transaction.executemany
            self._one = transaction.execute

        def _record_statement(self, sql: str, *parameters: object) -> object:
            told.append(sql)
            return self._one(sql, *parameters)  # type: ignore[arg-type]

        def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> object:
            return self._many(sql, rows)

    async def scenario() -> None:
        await audit_of(store).key_from_here()
        await store.database.write(lambda transaction: insert_rows(store, transaction, (ROW,)))
        told.clear()
        await store.database.write(lambda transaction: insert_rows(store, Told(transaction), (ROW, ROW, ROW)))  # type: ignore[arg-type]
        assert sum("UPDATE audit_head" in sql for sql in told) == 1
        assert await audit_of(store).is_whole()
        head = await audit_of(store).head()
        assert head is not None
        assert head.head.sequence == 4

    asyncio.run(scenario())
