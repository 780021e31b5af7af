"""Look-ups on a server: many at once on one connection, each alone with its error, asked again when the connection is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from identity_postgresql.database import PostgresqlDatabase
from identity_postgresql.look_ups import PATIENCE_SECONDS, numbered

from identity_core.database import Database, DatabaseClosed, DatabaseError, DatabaseUnavailable
from identity_core.database.interface import ValueNotStorable
from tests.postgres_server import PostgresServer, cut_connections, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

MADE = (
    "CREATE TABLE things (name TEXT PRIMARY KEY, size BIGINT NOT NULL, content BYTEA, note TEXT)",
    "INSERT INTO things SELECT 'thing ' || n, n, decode(repeat('00ff', n), 'hex'), NULL FROM generate_series(0, 499) AS n",
)
FOUND = "SELECT name, size, content, note FROM things WHERE name = :name"
PAGE = "SELECT size FROM things WHERE size > :after AND size <> :after + 1 ORDER BY size LIMIT :limit"
SLOWLY = "SELECT :name, pg_sleep(:seconds)"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = PostgresqlDatabase(postgres_url)
    for sql in MADE:
        opened.write_now(lambda tx, sql=sql: tx.execute(sql).rowcount)
    yield opened
    asyncio.run(opened.close())


def one(database: Database, number: int) -> Any:
    return database.look_up(FOUND, {"name": f"thing {number}"})


def expected(number: int) -> list[Any]:
    return [(f"thing {number}", number, bytes((0, 255)) * number, None)]


def cut_look_ups(url: str) -> None:
    """Ends what sleeps there, and does not wait: another connection comes at once."""
    with psycopg.connect(url, autocommit=True) as killer:
        killer.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")


@contextlib.contextmanager
def frozen(url: str) -> Iterator[None]:
    """Stops the server's process that the look-ups of one database talk to; the others answer."""
    with psycopg.connect(url, autocommit=True) as other:
        found = other.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%FROM things WHERE name%'"
            " AND query NOT LIKE '%pg_stat_activity%'"
        ).fetchall()
    ((pid,),) = found
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@dataclass
class Proxy:
    """Lets so many bytes of a new connection pass, in both directions, and cuts it then."""

    port: int
    byte_count: int


@contextlib.asynccontextmanager
async def cutting_proxy(port: int, drawing: random.Random) -> AsyncIterator[Proxy]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other = await asyncio.open_connection("127.0.0.1", port)
        left = proxy.byte_count

        async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            nonlocal left
            with contextlib.suppress(OSError):
                while left and (data := await source.read(min(left, drawing.choice((500, 65_536))))):
                    left -= len(data)
                    target.write(data)
                    await target.drain()
            for each in (writer, other):
                each.close()

        await asyncio.gather(pass_on(reader, other), pass_on(other_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        proxy = Proxy(server.sockets[0].getsockname()[1], 0)
        yield proxy


def test_names_are_numbered_in_their_order() -> None:
    sql, names = numbered("SELECT :b, :a, 'x::y', :b WHERE CAST(:a AS bigint) > 0")
    assert (sql, names) == (b"SELECT $1, $2, 'x::y', $1 WHERE CAST($2 AS bigint) > 0", ("b", "a"))


def test_many_are_under_way_at_once_and_each_gets_its_own_rows(database: Database) -> None:
    async def scenario() -> None:
        found = await asyncio.gather(*(one(database, number) for number in range(0, 600, 3)))
        assert found == [expected(number) if number < 500 else [] for number in range(0, 600, 3)]
        assert await database.look_up(PAGE, {"after": 7, "limit": 3}) == [(9,), (10,), (11,)]
        for value in ("ünïcode", "", "'; DROP TABLE things --", 2**62, -5, None, b"\0\xff"):
            kind = {str: "text", int: "bigint", bytes: "bytea"}.get(type(value), "text")
            assert await database.look_up(f"SELECT CAST(:value AS {kind})", {"value": value}) == [(value,)]

    asyncio.run(scenario())


def test_lookup_equals_read_and_last_write(database: Database) -> None:
    async def scenario() -> None:
        sql, given = "SELECT *, length(content), size + 0.5 FROM things WHERE name = :name", {"name": "thing 3"}
        assert await database.look_up(sql, given) == await database.read(lambda tx: tx.execute(sql, given).fetchall())
        for number in range(1000, 1040):
            await database.write(
                lambda tx, number=number: tx.execute("INSERT INTO things VALUES (:n, 1)", {"n": f"thing {number}"}),
            )
            assert [row[1] for row in await one(database, number)] == [1]

    asyncio.run(scenario())


def test_one_that_fails_fails_alone(database: Database) -> None:
    async def scenario() -> None:
        divided = "SELECT 10 / CAST(:by AS bigint)"
        for _ in range(2):
            outcomes = await asyncio.gather(
                one(database, 1),
                database.look_up("SELECT nonsense", {}),
                database.look_up(divided, {"by": 0}),
                database.look_up(divided, {"by": 5}),
                database.look_up("SELECT CAST(:value AS bigint)", {"value": "no number"}),
                one(database, 2),
                return_exceptions=True,
            )
            assert [outcomes[0], outcomes[3], outcomes[5]] == [expected(1), [(2,)], expected(2)]
            assert [type(outcomes[place]) for place in (1, 2, 4)] == [DatabaseError] * 3

    asyncio.run(scenario())


def test_one_slow_call_of_hundred_fails_alone(database: Database) -> None:
    database._settings["options"] = "-c statement_timeout=200ms"

    async def scenario() -> None:
        asked = [one(database, number) for number in range(50)]
        slow = asyncio.ensure_future(database.look_up(SLOWLY, {"name": "a", "seconds": 60}))
        asked += [one(database, number) for number in range(50, 100)]
        assert await asyncio.gather(*asked) == [expected(number) for number in range(100)]
        with pytest.raises(DatabaseUnavailable, match=r"The database is not available\."):
            await slow

    asyncio.run(scenario())


def test_unstorable_text_is_refused_before_sending(database: Database) -> None:
    async def scenario() -> None:
        asked = one(database, 1)
        with pytest.raises(ValueNotStorable):
            await database.look_up(FOUND, {"name": "a\0b"})
        assert await asked == expected(1)

    asyncio.run(scenario())


def test_one_that_nobody_waits_for_disturbs_none(database: Database) -> None:
    async def scenario() -> None:
        await one(database, 1)
        slow = asyncio.ensure_future(database.look_up(SLOWLY, {"name": "a", "seconds": 0.2}))
        others = [asyncio.ensure_future(one(database, number)) for number in range(9)]
        others[4].cancel()
        slow.cancel()
        found = await asyncio.gather(*others, return_exceptions=True)
        assert [found[number] for number in range(9) if number != 4] == [expected(n) for n in range(9) if n != 4]
        assert isinstance(found[4], asyncio.CancelledError)

    asyncio.run(scenario())


def test_more_than_socket_takes_is_sent_and_received_in_parts(database: Database) -> None:
    async def scenario() -> None:
        large = ["x" * 3_000_000 + str(number) for number in range(8)]
        found = await asyncio.gather(
            *(database.look_up("SELECT CAST(:text AS text)", {"text": text}) for text in large)
        )
        assert [rows[0][0] for rows in found] == large

    asyncio.run(scenario())


def test_a_connection_that_died_while_idle_is_replaced_unnoticed(database: Database, postgres_url: str) -> None:
    async def scenario() -> None:
        for number in range(4):
            assert await one(database, number) == expected(number)
            await asyncio.to_thread(cut_connections, postgres_url)
            if number % 2:
                # The loop has heard of it by now.
                await asyncio.sleep(0.05)

    asyncio.run(scenario())


def test_lost_query_is_repeated_once(database: Database, postgres_url: str) -> None:
    async def scenario(cuts: int) -> list[Any]:
        await one(database, 1)
        given = {"name": "slow", "seconds": 0.6}
        asked = [one(database, 2), database.look_up(SLOWLY, given), one(database, 3)]
        for _ in range(cuts):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(cut_look_ups, postgres_url)
        return await asyncio.gather(*asked, return_exceptions=True)

    first, slow, last = asyncio.run(scenario(1))
    assert (first, slow[0][0], last) == (expected(2), "slow", expected(3))
    first, slow, last = asyncio.run(scenario(2))
    assert first == expected(2)
    assert isinstance(slow, DatabaseUnavailable)
    assert isinstance(last, DatabaseUnavailable)


def test_connection_cut_at_any_byte_loses_no_answer(database: Database, postgres_server: PostgresServer) -> None:
    """On the way to the server or back, in the middle of a message; each is asked twice at most."""
    drawing = random.Random(7)

    async def scenario() -> None:
        async with cutting_proxy(postgres_server.port, drawing) as proxy:
            database._settings |= {"host": "127.0.0.1", "port": proxy.port}
            cuts = 0
            for _ in range(15):
                proxy.byte_count = drawing.randrange(1_000, 60_000)
                numbers = [drawing.randrange(500) for _ in range(60)]
                asked = [asyncio.ensure_future(one(database, number)) for number in numbers]
                asked[drawing.randrange(60)].cancel()
                for number, outcome in zip(numbers, await asyncio.gather(*asked, return_exceptions=True), strict=True):
                    if not isinstance(outcome, DatabaseUnavailable | asyncio.CancelledError):
                        assert outcome == expected(number)
                    cuts += isinstance(outcome, DatabaseUnavailable)
            assert cuts > 0
            proxy.byte_count = 10**9
            database._look_ups._drop()
            assert await asyncio.gather(*(one(database, n) for n in range(60))) == [expected(n) for n in range(60)]
            assert database.load().reads == 0

    asyncio.run(scenario())


def test_a_server_that_is_away_is_said_so_and_found_again(database: Database, postgres_server: PostgresServer) -> None:
    async def scenario() -> None:
        await one(database, 1)
        await asyncio.to_thread(postgres_server.stop, signal.SIGQUIT)
        try:
            for outcome in await asyncio.gather(*(one(database, 1) for _ in range(5)), return_exceptions=True):
                assert isinstance(outcome, DatabaseUnavailable)
            with pytest.raises(DatabaseUnavailable):
                await one(database, 1)
        finally:
            await asyncio.to_thread(postgres_server.start)
        assert await one(database, 1) == expected(1)

    asyncio.run(scenario())


def test_a_process_of_the_server_that_is_frozen_is_given_up(database: Database, postgres_url: str) -> None:
    async def scenario() -> None:
        assert await one(database, 1) == expected(1)
        with frozen(postgres_url):
            begun = time.monotonic()
            early = [asyncio.ensure_future(one(database, number)) for number in range(20)]
            await asyncio.sleep(2.5)
            late = [asyncio.ensure_future(one(database, number)) for number in range(20)]
            load = database.load()
            assert (load.reads, load.readers) == (40, 4)
            for outcome in await asyncio.gather(*early, return_exceptions=True):
                assert isinstance(outcome, DatabaseUnavailable)
            assert PATIENCE_SECONDS - 1.1 < time.monotonic() - begun < 4 * PATIENCE_SECONDS
            # They have not waited as long, and are asked again of a process that answers.
            assert await asyncio.gather(*late) == [expected(number) for number in range(20)]
            assert await one(database, 2) == expected(2)
        assert database.load().reads == 0

    asyncio.run(scenario())


def test_silent_server_times_out(postgres_url: str) -> None:
    database = PostgresqlDatabase(postgres_url)

    async def scenario() -> None:
        silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        # Of a caller that waits for its connection without an end.
        database._settings |= {"host": "127.0.0.1", "port": port, "connect_timeout": PATIENCE_SECONDS + 3}
        begun = time.monotonic()
        outcomes = await asyncio.gather(*(database.look_up("SELECT 1", {}) for _ in range(5)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * 5
        assert time.monotonic() - begun < PATIENCE_SECONDS + 2.5
        assert database.load().reads == 0
        silent.close()
        await database.close()

    asyncio.run(scenario())


def test_one_that_waits_for_a_lock_holds_up_the_others_no_longer(database: Database, postgres_url: str) -> None:
    database._settings["options"] = "-c lock_timeout=60s"

    async def scenario() -> None:
        assert await database.look_up("SELECT 1", {}) == [(1,)]
        with psycopg.connect(postgres_url) as blocker:
            blocker.execute("LOCK TABLE things")
            stuck = asyncio.ensure_future(one(database, 1))
            await asyncio.sleep(2.5)
            others = [asyncio.ensure_future(database.look_up("SELECT 1", {})) for _ in range(5)]
            with pytest.raises(DatabaseUnavailable):
                await stuck
            assert await asyncio.gather(*others) == [[(1,)]] * 5

    asyncio.run(scenario())


def test_a_process_that_was_stopped_itself_has_not_waited(database: Database) -> None:
    async def scenario() -> None:
        asked = [one(database, 1), database.look_up(SLOWLY, {"name": "a", "seconds": 1.5})]
        await asyncio.sleep(0.2)
        # As when the machine slept: what was asked before is answered after.
        time.sleep(PATIENCE_SECONDS + 1)
        assert [len(rows) for rows in await asyncio.gather(*asked)] == [1, 1]

    asyncio.run(scenario())


def test_a_table_that_somebody_locks_is_not_waited_for_for_ever(database: Database, postgres_url: str) -> None:
    database._settings["options"] = "-c lock_timeout=100ms"

    async def scenario() -> None:
        with psycopg.connect(postgres_url) as blocker:
            blocker.execute("LOCK TABLE things")
            # None of them is prepared, and the second relies on the first.
            for outcome in await asyncio.gather(one(database, 1), one(database, 2), return_exceptions=True):
                assert isinstance(outcome, DatabaseUnavailable)
            assert await database.look_up("SELECT 1", {}) == [(1,)]
        assert await asyncio.gather(one(database, 1), one(database, 2)) == [expected(1), expected(2)]

    asyncio.run(scenario())


def test_prepared_statement_survives_a_table_change(database: Database) -> None:
    async def scenario() -> None:
        sql = "SELECT * FROM things WHERE name = :name"
        await database.look_up(sql, {"name": "thing 1"})
        await database.write(lambda tx: tx.execute("ALTER TABLE things ADD COLUMN more TEXT").rowcount)
        with contextlib.suppress(DatabaseError):
            # "cached plan must not change result type"
            await database.look_up(sql, {"name": "thing 1"})
        assert len((await database.look_up(sql, {"name": "thing 1"}))[0]) == 5
        assert await one(database, 1) == expected(1)

    asyncio.run(scenario())


def test_an_index_is_used_whatever_the_server_counted(postgres_url: str) -> None:
    database = PostgresqlDatabase(postgres_url)

    async def scenario() -> None:
        await database.write(lambda tx: tx.execute("CREATE TABLE few (name TEXT PRIMARY KEY)").rowcount)
        await database.write(lambda tx: tx.execute("INSERT INTO few VALUES ('a')").rowcount)
        await database.write(lambda tx: tx.execute("ANALYZE few").rowcount)
        plan = await database.look_up("EXPLAIN SELECT name FROM few WHERE name = :name", {"name": "a"})
        assert "Index" in plan[0][0]
        # Planned once, for any value.
        assert await database.look_up("SHOW plan_cache_mode", {}) == [("force_generic_plan",)]
        await database.close()

    asyncio.run(scenario())


def test_it_serves_one_event_loop_after_the_other_and_closes(postgres_url: str) -> None:
    database = PostgresqlDatabase(postgres_url)

    async def look() -> None:
        assert await database.look_up("SELECT 1", {}) == [(1,)]

    for _ in range(2):
        asyncio.run(look())

    async def closing() -> None:
        await look()
        slow = asyncio.ensure_future(database.look_up(SLOWLY, {"name": "a", "seconds": 5}))
        await asyncio.sleep(0)
        await database.close()
        await database.close()
        with pytest.raises(DatabaseClosed):
            await slow
        with pytest.raises(DatabaseClosed):
            await database.look_up("SELECT 1", {})

    asyncio.run(closing())


def test_close_while_connecting_leaves_nothing_open(postgres_url: str) -> None:
    database = PostgresqlDatabase(postgres_url)

    async def closing() -> None:
        asked = asyncio.ensure_future(database.look_up("SELECT 1", {}))
        await asyncio.sleep(0)
        await database.close()
        with pytest.raises(DatabaseClosed):
            await asked
        await asyncio.sleep(0.05)

    asyncio.run(closing())
    with psycopg.connect(postgres_url, autocommit=True) as server:
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'identity'"
        )
        for _ in range(50):
            left = server.execute(others).fetchone()
            if left == (0,):
                break
            server.execute("SELECT pg_sleep(0.1)")
        assert left == (0,)
