"""The server database: groups, savepoints, connections that die."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from identity_postgresql.database import PostgresqlDatabase
from identity_postgresql.session import translated_sql

from identity_core.database import (
    ConstraintViolated,
    Database,
    DatabaseClosed,
    DatabaseError,
    DatabaseUnavailable,
    Transaction,
)
from tests.postgres_server import PostgresServer, cut_connections, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = PostgresqlDatabase(postgres_url)
    opened.write_now(lambda tx: tx.execute("CREATE TABLE things (name TEXT PRIMARY KEY, grp BIGINT)"))
    yield opened
    asyncio.run(opened.close())


def insert(name: str):
    def job(transaction: Transaction) -> int:
        transaction.execute("INSERT INTO things VALUES (:name, :grp)", {"name": name, "grp": transaction.group})
        return transaction.group

    return job


def names(database: Database) -> list[str]:
    return [row[0] for row in database.read_now(lambda tx: tx.execute("SELECT name FROM things ORDER BY 1").fetchall())]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT :a, :b_2", "SELECT %(a)s, %(b_2)s"),
        ("SELECT x::text, :a", "SELECT x::text, %(a)s"),
        ("SELECT 5 % 3 WHERE a LIKE '%'", "SELECT 5 %% 3 WHERE a LIKE '%%'"),
        ("SELECT '12:30', :a", "SELECT '12:30', %(a)s"),
        ("INSERT INTO a VALUES (?, ?)", "INSERT INTO a VALUES (%s, %s)"),
    ],
)
def test_parameters_are_translated(sql: str, expected: str) -> None:
    assert translated_sql(sql) == expected


def test_one_group_is_one_transaction_and_failures_stay_alone(database: Database) -> None:
    class Refused(Exception):
        pass

    def half(transaction: Transaction) -> None:
        insert("half")(transaction)
        raise Refused

    async def scenario() -> list[object]:
        jobs = [
            database.write(insert("a")),
            database.write(half),
            database.write(insert("a")),
            database.write(lambda tx: tx.execute("SELECT nonsense")),
            database.write(insert("b")),
            database.write(half),
        ]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        with pytest.raises(Refused):
            await database.write(half)
        with pytest.raises(ConstraintViolated):
            await database.write(insert("a"))
        return outcomes

    first, refused, double, nonsense, last, refused_too = asyncio.run(scenario())
    assert first == last
    assert isinstance(refused, Refused)
    assert isinstance(refused_too, Refused)
    assert isinstance(double, ConstraintViolated)
    assert type(nonsense) is DatabaseError
    assert names(database) == ["a", "b"]


def test_only_groups_with_a_durable_job_wait_for_the_disk(database: Database) -> None:
    def setting(transaction: Transaction) -> str:
        return str(transaction.execute("SHOW synchronous_commit").fetchone()[0])

    async def scenario() -> None:
        assert await database.write(setting, durable=False) == "off"
        assert await database.write(setting) == "on"
        both = await asyncio.gather(database.write(setting, durable=False), database.write(setting))
        assert both == ["on", "on"]

    asyncio.run(scenario())


def test_many_reads_run_side_by_side(database: Database) -> None:
    async def scenario() -> None:
        await database.write(insert("a"))
        counts = await asyncio.gather(
            *(database.read(lambda tx: tx.execute("SELECT count(*) FROM things").fetchone()[0]) for _ in range(40))
        )
        assert counts == [1] * 40

    asyncio.run(scenario())


def test_connections_that_died_while_idle_are_replaced_unnoticed(database: Database, postgres_url: str) -> None:
    async def scenario() -> None:
        await database.write(insert("a"))
        await database.read(lambda tx: tx.execute("SELECT 1").fetchone())
        await asyncio.to_thread(cut_connections, postgres_url)
        await database.write(insert("b"))
        for _ in range(8):
            assert await database.read(lambda tx: tx.execute("SELECT count(*) FROM things").fetchone()) == (2,)

    asyncio.run(scenario())


def test_a_connection_that_dies_in_a_group_takes_the_whole_group(database: Database, postgres_url: str) -> None:
    def hide(transaction: Transaction) -> None:
        cut_connections(postgres_url)
        try:
            insert("x")(transaction)
        except psycopg.OperationalError:
            raise KeyError("a job that hides what happened") from None

    async def scenario() -> None:
        jobs = [database.write(insert("a")), database.write(hide), database.write(insert("b"))]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {DatabaseUnavailable}
        await database.write(insert("c"))

    asyncio.run(scenario())
    assert names(database) == ["c"]


def test_a_server_that_is_away_is_said_so_and_found_again(
    database: Database, postgres_server: PostgresServer, postgres_url: str
) -> None:
    async def scenario() -> None:
        await database.write(insert("a"))
        await asyncio.to_thread(postgres_server.stop, signal.SIGQUIT)
        try:
            with pytest.raises(DatabaseUnavailable):
                await database.write(insert("b"))
            with pytest.raises(DatabaseUnavailable):
                await database.read(lambda tx: tx.execute("SELECT 1").fetchone())
            with pytest.raises(DatabaseUnavailable):
                PostgresqlDatabase(postgres_url)
        finally:
            await asyncio.to_thread(postgres_server.start)
        await database.write(insert("c"))

    asyncio.run(scenario())
    assert names(database) == ["a", "c"]


def test_a_lock_that_somebody_keeps_is_not_waited_for_for_ever(database: Database, postgres_url: str) -> None:
    database._settings["options"] = "-c lock_timeout=100ms"
    database._writer.drop()
    with psycopg.connect(postgres_url) as blocker:
        blocker.execute("LOCK TABLE things")

        async def scenario() -> None:
            with pytest.raises(DatabaseUnavailable) as caught:
                await database.write(insert("a"))
            assert "lock timeout" in caught.value.reason
            blocker.rollback()
            await database.write(insert("b"))

        asyncio.run(scenario())
    assert names(database) == ["b"]


class Undone:
    """A job whose transaction the server undoes the first ``times``, as it does to end a circle of waiting processes."""

    def __init__(self, times: int, code: str = "40P01") -> None:
        self.left, self.code, self.runs = times, code, 0

    def __call__(self, transaction: Transaction) -> int:
        self.runs += 1
        if self.left:
            self.left -= 1
            transaction.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{self.code}'; END $$")
        return transaction.group


@pytest.mark.parametrize("code", ["40P01", "40001"])
def test_a_group_that_the_server_has_undone_is_run_again(database: Database, code: str) -> None:
    undone = Undone(2, code)

    async def scenario() -> list[int]:
        return await asyncio.gather(database.write(insert("a")), database.write(undone), database.write(insert("b")))

    groups = asyncio.run(scenario())
    assert len(set(groups)) == 1, "all of it is of one transaction"
    assert names(database) == ["a", "b"]
    load = database.load()
    assert (undone.runs, load.groups, load.repeated) == (3, 1, 2)


def test_a_group_that_the_server_undoes_again_and_again_fails(database: Database) -> None:
    undone = Undone(9)

    async def scenario() -> None:
        outcomes = await asyncio.gather(database.write(insert("a")), database.write(undone), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * 2
        await database.write(insert("b"))

    asyncio.run(scenario())
    assert names(database) == ["b"]
    assert undone.runs == 3


def test_error_before_group_rollback_is_forgotten(database: Database) -> None:
    """A group in which one job raises is run job by job, and may be undone then."""
    undone = Undone(0)

    def taken_until_then(transaction: Transaction) -> None:
        if database.load().repeated == 0:
            undone.left = 1
            raise KeyError("taken")
        insert("a")(transaction)

    async def scenario() -> None:
        await asyncio.gather(database.write(taken_until_then), database.write(undone))

    asyncio.run(scenario())
    assert names(database) == ["a"]


def test_a_job_nobody_waits_for_any_more_is_not_run_again(database: Database) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        gone = database.write(insert("gone"))

        def leave(transaction: Transaction) -> int:
            loop.call_soon_threadsafe(gone.cancel)
            while not gone.done():
                time.sleep(0.001)
            return insert("kept")(transaction)

        await asyncio.gather(database.write(leave), database.write(Undone(1)))

    asyncio.run(scenario())
    assert names(database) == ["kept"]


def test_two_processes_wait_for_each_other_both_write_in_end(database: Database, postgres_url: str) -> None:
    async def scenario(other: Database) -> None:
        await asyncio.gather(database.write(insert("a")), database.write(insert("b")))
        met = threading.Barrier(2)

        def crossing(first: str, last: str) -> Callable[[Transaction], None]:
            def job(transaction: Transaction) -> None:
                add = "UPDATE things SET grp = grp * 2 WHERE name = :name"
                # Who comes again finds the barrier passed, and waits for the other before it has anything that the other wants.
                one, two = (last, first) if met.broken else (first, last)
                transaction.execute(add, {"name": one})
                with contextlib.suppress(threading.BrokenBarrierError):
                    met.wait(30)
                    met.abort()
                transaction.execute(add, {"name": two})

            return job

        await database.write(lambda tx: tx.execute("UPDATE things SET grp = 1").rowcount)
        await asyncio.gather(database.write(crossing("a", "b")), other.write(crossing("b", "a")))
        assert database.load().repeated + other.load().repeated == 1

    other = PostgresqlDatabase(f"{postgres_url}?options=-c%20deadlock_timeout%3D10ms")
    asyncio.run(scenario(other))
    asyncio.run(other.close())
    rows = database.read_now(lambda tx: tx.execute("SELECT name, grp FROM things ORDER BY 1").fetchall())
    assert rows == [("a", 4), ("b", 4)]


def test_each_group_holds_the_writer_lock_to_its_end(database: Database, postgres_url: str) -> None:
    """Also one that was undone and run again job by job, and one whose jobs do not ask for it."""
    asyncio.run(database.close())
    locking = PostgresqlDatabase(postgres_url, "SELECT name FROM things WHERE name = 'a' FOR UPDATE")
    held: list[bool] = []

    def refused(_: Transaction) -> None:
        raise KeyError("refused")

    def look(_: Transaction) -> None:
        with psycopg.connect(postgres_url) as other:
            held.append(other.execute("SELECT name FROM things FOR UPDATE SKIP LOCKED").fetchone() is None)

    async def scenario() -> None:
        await locking.write(insert("a"))
        await locking.write(look)
        await asyncio.gather(locking.write(refused), locking.write(look), return_exceptions=True)
        await locking.close()

    asyncio.run(scenario())
    assert held == [True, True]


def test_a_job_nobody_waits_for_any_more_is_not_run(database: Database) -> None:
    async def scenario() -> None:
        gone = database.write(insert("gone"))
        kept = database.write(insert("kept"))
        gone.cancel()
        await kept

    asyncio.run(scenario())
    assert names(database) == ["kept"]


def test_it_serves_one_event_loop_after_other_and_closes_twice(postgres_url: str) -> None:
    database = PostgresqlDatabase(postgres_url)

    async def look() -> None:
        assert await database.write(lambda tx: tx.execute("SELECT 1").fetchone()) == (1,)

    for _ in range(2):
        asyncio.run(look())

    async def closing() -> None:
        await database.close()
        await database.close()
        with pytest.raises(DatabaseClosed):
            await database.write(lambda tx: tx.execute("SELECT 1"))
        with pytest.raises(DatabaseClosed):
            await database.read(lambda tx: tx.execute("SELECT 1"))

    asyncio.run(closing())


def test_a_url_that_cannot_be_read_is_not_shown(postgres_url: str) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        PostgresqlDatabase("postgresql://user:secret@host:not-a-port-%zz/x?y")
    assert "secret" not in str(caught.value)


def test_reads_that_wait_for_a_connection_are_counted(database: Database) -> None:
    goes_on = threading.Event()

    def waits(transaction: Transaction) -> bool:
        return goes_on.wait(30)

    async def scenario() -> None:
        reading = [asyncio.ensure_future(database.read(waits)) for _ in range(6)]
        await asyncio.sleep(0)
        load = database.load()
        assert (load.reads, load.readers) == (6, 4)
        goes_on.set()
        assert await asyncio.gather(*reading) == [True] * 6

    asyncio.run(scenario())
    assert database.load().reads == 0


def test_vanished_server_times_out(database: Database, postgres_url: str) -> None:
    def read_keepalive(opened: Database) -> list[int]:
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_USER_TIMEOUT)

        def job(session: Any) -> list[int]:
            with socket.socket(fileno=os.dup(session.connection().pgconn.socket)) as used:
                return [used.getsockopt(socket.IPPROTO_TCP, option) for option in options]

        return opened.read_now(job)

    assert read_keepalive(database) == [5, 2, 10_000]
    # The operator has the last word.
    other = PostgresqlDatabase(f"{postgres_url}?keepalives_idle=60")
    assert read_keepalive(other) == [60, 2, 10_000]
    asyncio.run(other.close())


@pytest.mark.parametrize("readers", [1, 5])
def test_as_many_connections_read_as_the_operator_says(postgres_url: str, readers: int) -> None:
    database = PostgresqlDatabase(postgres_url, readers=readers)
    processes = "SELECT pg_backend_pid() FROM pg_sleep(0.05)"

    async def scenario() -> None:
        found = await asyncio.gather(*(database.read(lambda tx: tx.execute(processes).fetchone()) for _ in range(10)))
        assert len(set(found)) == readers
        assert database.load().readers == readers + 1
        await database.close()

    asyncio.run(scenario())
