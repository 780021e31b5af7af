"""The server database: groups, savepoints, connections that die."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import psycopg
import pytest

from identity_core.database import (
    ConstraintViolated,
    Database,
    DatabaseClosed,
    DatabaseError,
    DatabaseUnavailable,
    Transaction,
    open_postgresql,
)
from identity_core.database.postgresql_session import translated_sql
from tests.postgres_server import PostgresServer, cut_connections, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = open_postgresql(postgres_url)
    opened.write_now(lambda tx: tx.execute("CREATE TABLE things (name TEXT PRIMARY KEY, grp BIGINT)"))
    yield opened
    asyncio.run(opened.close())


def put(name: str):
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
    ],
)
def test_parameters_are_translated(sql: str, expected: str) -> None:
    assert translated_sql(sql) == expected


def test_one_group_is_one_transaction_and_failures_stay_alone(database: Database) -> None:
    class Refused(Exception):
        pass

    def half(transaction: Transaction) -> None:
        put("half")(transaction)
        raise Refused

    async def scenario() -> list[object]:
        jobs = [
            database.write(put("a")),
            database.write(half),
            database.write(put("a")),
            database.write(lambda tx: tx.execute("SELECT nonsense")),
            database.write(put("b")),
            database.write(half),
        ]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        with pytest.raises(Refused):
            await database.write(half)
        with pytest.raises(ConstraintViolated):
            await database.write(put("a"))
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
        await database.write(put("a"))
        counts = await asyncio.gather(
            *(database.read(lambda tx: tx.execute("SELECT count(*) FROM things").fetchone()[0]) for _ in range(40))
        )
        assert counts == [1] * 40

    asyncio.run(scenario())


def test_connections_that_died_while_idle_are_replaced_unnoticed(database: Database, postgres_url: str) -> None:
    async def scenario() -> None:
        await database.write(put("a"))
        await database.read(lambda tx: tx.execute("SELECT 1").fetchone())
        await asyncio.to_thread(cut_connections, postgres_url)
        await database.write(put("b"))
        for _ in range(8):
            assert await database.read(lambda tx: tx.execute("SELECT count(*) FROM things").fetchone()) == (2,)

    asyncio.run(scenario())


def test_a_connection_that_dies_in_a_group_takes_the_whole_group(database: Database, postgres_url: str) -> None:
    def hide(transaction: Transaction) -> None:
        cut_connections(postgres_url)
        try:
            put("x")(transaction)
        except psycopg.OperationalError:
            raise KeyError("a job that hides what happened") from None

    async def scenario() -> None:
        jobs = [database.write(put("a")), database.write(hide), database.write(put("b"))]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {DatabaseUnavailable}
        await database.write(put("c"))

    asyncio.run(scenario())
    assert names(database) == ["c"]


def test_a_server_that_is_away_is_said_so_and_found_again(
    database: Database, postgres_server: PostgresServer, postgres_url: str
) -> None:
    async def scenario() -> None:
        await database.write(put("a"))
        await asyncio.to_thread(postgres_server.stop, signal.SIGQUIT)
        try:
            with pytest.raises(DatabaseUnavailable):
                await database.write(put("b"))
            with pytest.raises(DatabaseUnavailable):
                await database.read(lambda tx: tx.execute("SELECT 1").fetchone())
            with pytest.raises(DatabaseUnavailable):
                open_postgresql(postgres_url)
        finally:
            await asyncio.to_thread(postgres_server.start)
        await database.write(put("c"))

    asyncio.run(scenario())
    assert names(database) == ["a", "c"]


def test_a_lock_that_somebody_keeps_is_not_waited_for_for_ever(database: Database, postgres_url: str) -> None:
    database._settings["options"] = "-c lock_timeout=100ms"
    database._writer.drop()
    with psycopg.connect(postgres_url) as blocker:
        blocker.execute("LOCK TABLE things")

        async def scenario() -> None:
            with pytest.raises(DatabaseUnavailable) as caught:
                await database.write(put("a"))
            assert "lock timeout" in caught.value.reason
            blocker.rollback()
            await database.write(put("b"))

        asyncio.run(scenario())
    assert names(database) == ["b"]


def test_a_job_nobody_waits_for_any_more_is_not_run(database: Database) -> None:
    async def scenario() -> None:
        gone = database.write(put("gone"))
        kept = database.write(put("kept"))
        gone.cancel()
        await kept

    asyncio.run(scenario())
    assert names(database) == ["kept"]


def test_it_serves_one_event_loop_after_the_other_and_closes_twice(postgres_url: str) -> None:
    database = open_postgresql(postgres_url)

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
        open_postgresql("postgresql://user:secret@host:not-a-port-%zz/x?y")
    assert "secret" not in str(caught.value)
