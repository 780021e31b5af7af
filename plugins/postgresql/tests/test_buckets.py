from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
import warnings

import psycopg
import pytest
from identity_postgresql.buckets import TokenBucketPostgresqlStorage
from identity_server_processes.fallback import FallbackStorage

from tests.postgres_server import cut_connections, postgres_server, postgres_url  # noqa: F401
from tests.unit.throttle.promises import BucketPromises, run


def open_storage(url: str) -> TokenBucketPostgresqlStorage:
    return TokenBucketPostgresqlStorage(f"async+tokenbucket+{url}")


class TestPromises(BucketPromises):
    @pytest.fixture
    def make(self, postgres_url):  # noqa: F811
        return lambda: open_storage(postgres_url)


def test_processes_that_start_together_share_a_bucket(postgres_url):  # noqa: F811
    async def scenario():
        clients = [open_storage(postgres_url) for _ in range(4)]
        answers = await asyncio.gather(
            *(client.acquire_token_bucket("a", 0.001, 10) for client in clients for _ in range(10))
        )
        for client in clients:
            await client.close()
        return sum(each.allowed for each in answers)

    assert run(scenario()) == 10


def test_sequential_requests_use_one_connection(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        for _ in range(10):
            await storage.acquire_token_bucket("a", 1.0, 10)
        places = [storage._places.get_nowait() for _ in range(4)]
        for place in places:
            storage._places.put_nowait(place)
        await storage.close()
        return sum(place is not None for place in places)

    assert run(scenario()) == 1


def test_a_debt_that_nobody_can_owe_is_an_empty_bucket(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        await storage.acquire_token_bucket("a", 20.0, 2)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("UPDATE throttle_buckets SET full_at = full_at + 3600000000")
        refused = await storage.acquire_token_bucket("a", 20.0, 2)
        await asyncio.sleep(0.06)
        again = await storage.acquire_token_bucket("a", 20.0, 2)
        await storage.close()
        return refused, again

    refused, again = run(scenario())
    assert not refused.allowed
    assert refused.retry_after_seconds == pytest.approx(0.05)
    assert again.allowed


def test_buckets_that_are_full_again_are_forgotten(postgres_url, monkeypatch):  # noqa: F811
    monkeypatch.setattr("identity_postgresql.buckets._SWEEP_EVERY", 8)

    async def scenario():
        storage = open_storage(postgres_url)
        for number in range(16):
            await storage.acquire_token_bucket(f"old {number}", 1e5, 1)
        await asyncio.sleep(0.01)
        for _ in range(8):
            await storage.acquire_token_bucket("new", 0.001, 100)
        while storage._running:
            await asyncio.sleep(0.01)
        await storage.close()

    run(scenario())
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT key FROM throttle_buckets").fetchall() == [("new",)]


def test_connection_times_out_in_seconds(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        await storage.acquire_token_bucket("a", 1.0, 10)
        prepared = await storage._ask("SELECT count(*) FROM pg_prepared_statements", {})
        connection = await storage._places.get()
        storage._places.put_nowait(connection)
        settings = connection.info.get_parameters()
        await storage.close()
        return prepared, settings, connection.closed

    prepared, settings, is_closed = run(scenario())
    assert prepared[0] >= 1
    given = {name: settings[name] for name in ("connect_timeout", "tcp_user_timeout", "keepalives_idle")}
    assert given == {"connect_timeout": "2", "tcp_user_timeout": "3000", "keepalives_idle": "5"}
    assert is_closed


@contextlib.contextmanager
def nothing_left_open():
    """The driver complains of a connection that is forgotten and not closed. What tests before have forgotten is not counted."""
    gc.collect()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in said if each.category is ResourceWarning] == []


def test_a_statement_that_fails_costs_its_connection(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        with pytest.raises(storage.base_exceptions, match="division by zero"):
            await storage._ask("SELECT 1 / 0", {})
        places = [storage._places.get_nowait() for _ in range(4)]
        await storage.close()
        return places

    with nothing_left_open():
        assert run(scenario()) == [None] * 4


def test_closing_closes_every_connection(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        await asyncio.gather(*(storage.acquire_token_bucket(str(number), 1.0, 10) for number in range(8)))
        await storage.close()

    with nothing_left_open():
        run(scenario())


def test_a_connection_without_a_table_is_not_kept(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(f"{postgres_url}?options=-cdefault_transaction_read_only%3Don")
        with pytest.raises(storage.base_exceptions, match="read-only"):
            await storage.acquire_token_bucket("a", 1.0, 10)
        places = [storage._places.get_nowait() for _ in range(4)]
        await storage.close()
        return places

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS throttle_buckets")
        with nothing_left_open():
            assert run(scenario()) == [None] * 4
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        end = time.monotonic() + 30
        while connection.execute(others).fetchone() != (0,):
            assert time.monotonic() < end, "a connection was left open"
            time.sleep(0.05)


def test_a_connection_that_was_cut_is_replaced(postgres_url):  # noqa: F811
    async def scenario():
        storage = open_storage(postgres_url)
        await storage.acquire_token_bucket("a", 0.001, 3)
        await asyncio.to_thread(cut_connections, postgres_url)
        with pytest.raises(storage.base_exceptions):
            await storage.acquire_token_bucket("a", 0.001, 3)
        again = await storage.acquire_token_bucket("a", 0.001, 3)
        await storage.close()
        return again

    assert run(scenario()).remaining == 1


def test_a_server_that_says_nothing_is_left_to_itself():
    """A server that takes the connection and never answers, as a frozen one does."""

    async def scenario():
        async def say_nothing(reader, writer):
            await reader.read()
            writer.close()

        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        storage = FallbackStorage(
            open_storage(f"postgresql://identity@127.0.0.1:{port}/postgres"),
            processes=1,
            monotonic=time.monotonic,
            logger=logging.getLogger("buckets"),
            deadline_seconds=0.05,
        )
        answers = [(await storage.acquire_token_bucket("a", 0.001, 3)).allowed for _ in range(20)]
        await storage.close()
        silent.close()
        return sum(answers), storage.degraded

    assert run(scenario()) == (3, True)
