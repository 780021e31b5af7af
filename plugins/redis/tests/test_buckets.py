from __future__ import annotations

import asyncio
import logging
import time

import pytest
from identity_redis.buckets import TokenBucketRedisStorage
from identity_server_processes.fallback import FallbackStorage
from limits.storage import storage_from_string

from tests.redis_server import redis_server
from tests.unit.throttle.promises import BucketPromises, run


@pytest.fixture(scope="module")
def server():
    with redis_server() as started:
        yield started


def open_storage(server, answer_seconds: float = 60) -> TokenBucketRedisStorage:
    """Open a storage with a long timeout. The service gives a server 50 ms and decides alone; here a slow machine is no error."""
    return TokenBucketRedisStorage(f"async+tokenbucket+{server.url}?socket_timeout={answer_seconds}")


@pytest.fixture
def clean(server):
    async def flush():
        storage = open_storage(server)
        await storage.reset()
        await storage.close()

    run(flush())
    return server


class TestPromises(BucketPromises):
    @pytest.fixture
    def make(self, clean):
        return lambda: open_storage(clean)


def test_limits_finds_it_by_its_scheme(server):
    async def scenario():
        storage = storage_from_string(f"async+tokenbucket+{server.url}/0")
        assert isinstance(storage, TokenBucketRedisStorage)
        assert await storage.check()
        await storage.close()

    run(scenario())


def test_clients_share_a_bucket(clean):
    async def scenario():
        clients = [open_storage(clean) for _ in range(4)]
        answers = await asyncio.gather(
            *(client.acquire_token_bucket("a", 0.001, 10) for client in clients for _ in range(10))
        )
        for client in clients:
            await client.close()
        return sum(each.allowed for each in answers)

    assert run(scenario()) == 10


def test_a_bucket_that_is_full_again_is_gone(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage.acquire_token_bucket("a", 100.0, 1)
        await asyncio.sleep(0.05)
        keys = await storage._client.keys("*")
        await storage.close()
        return keys

    assert run(scenario()) == []


def test_flushed_scripts_are_loaded_again(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage.acquire_token_bucket("a", 0.001, 2)
        await storage._client.script_flush()
        answers = [(await storage.acquire_token_bucket("a", 0.001, 2)).allowed for _ in range(2)]
        await storage.close()
        return answers

    assert run(scenario()) == [True, False]


def test_the_script_is_loaded_once(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage._client.config_resetstat()
        for _ in range(3):
            await storage.acquire_token_bucket("a", 0.001, 5)
        counts = await storage._client.info("commandstats")
        await storage.close()
        return counts["cmdstat_script|load"]["calls"], counts["cmdstat_evalsha"]["calls"]

    assert run(scenario()) == (1, 3)


def test_cancelled_waiter_leaves_other_answers(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage.acquire_token_bucket("z", 0.001, 5)
        waiting = [asyncio.create_task(storage.acquire_token_bucket("a", 0.001, 2)) for _ in range(4)]
        while storage._sender is None or storage._waiting:
            await asyncio.sleep(0)
        waiting[0].cancel()
        answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 30)
        await storage.close()
        return answers

    gone, *others = run(scenario())
    assert isinstance(gone, asyncio.CancelledError)
    # The first token is spent all the same.
    assert [each.allowed for each in others] == [True, False, False]


def test_closing_leaves_no_connection(clean):
    async def scenario():
        storage, watcher = open_storage(clean), open_storage(clean)
        await storage.acquire_token_bucket("a", 0.001, 5)
        assert len(await watcher._client.client_list()) == 2
        await storage.close()
        async with asyncio.timeout(30):
            while len(await watcher._client.client_list()) > 1:
                await asyncio.sleep(0.02)
        await watcher.close()

    run(scenario())


@pytest.mark.parametrize("is_sent", [False, True])
def test_closing_abandons_what_still_waits(is_sent):
    """No caller waits for a server that takes the connection and never answers; each gets an error at once."""

    async def scenario():
        async def say_nothing(reader, writer):
            await reader.read()
            writer.close()

        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        storage = TokenBucketRedisStorage(f"async+tokenbucket+redis://127.0.0.1:{port}?socket_timeout=60")
        asked = asyncio.create_task(storage.acquire_token_bucket("a", 0.001, 5))
        while storage._sender is None or (is_sent and storage._waiting):
            await asyncio.sleep(0)
        sender = storage._sender
        async with asyncio.timeout(10):
            await storage.close()
            assert sender.done(), "it could still use the connections that are closed"
            (answer,) = await asyncio.gather(asked, return_exceptions=True)
        silent.close()
        return answer

    assert isinstance(run(scenario()), asyncio.CancelledError)


def test_server_error_reaches_its_caller_only(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage._client.lpush("identity:bucket:a", "no number")
        asked = (storage.acquire_token_bucket(key, 0.001, 5) for key in ("a", "b"))
        answers = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 30)
        errors = storage.base_exceptions
        await storage.close()
        return answers, errors

    (broken, decided), errors = run(scenario())
    assert isinstance(broken, errors)
    assert decided.allowed


def test_a_debt_that_nobody_can_owe_is_an_empty_bucket(clean):
    async def scenario():
        storage = open_storage(clean)
        await storage._client.set("identity:bucket:a", str(int((time.time() + 3_600) * 1e6)))
        refused = await storage.acquire_token_bucket("a", 20.0, 2)
        await asyncio.sleep(0.06)
        again = await storage.acquire_token_bucket("a", 20.0, 2)
        await storage.close()
        return refused, again

    refused, again = run(scenario())
    assert not refused.allowed
    assert refused.retry_after_seconds == pytest.approx(0.05)
    assert again.allowed


def test_a_server_that_is_not_there_is_an_error(clean):
    async def scenario():
        storage = TokenBucketRedisStorage("async+tokenbucket+redis://127.0.0.1:1")
        try:
            await storage.acquire_token_bucket("a", 1.0, 1)
        except storage.base_exceptions:
            return True
        finally:
            await storage.close()

    assert run(scenario())


def test_a_frozen_server_is_left_and_found_again():
    """The frozen server is one of its own: what waited there must not disturb the other tests."""

    async def scenario(server):
        storage = FallbackStorage(
            open_storage(server, 2),
            processes=1,
            monotonic=time.monotonic,
            logger=logging.getLogger("buckets"),
            # Long enough for a server that is only slow; the promise of 50 ms is kept with the settings of the service.
            deadline_seconds=2.0,
        )
        assert (await storage.acquire_token_bucket("a", 0.001, 5)).allowed
        server.freeze()
        answers = await asyncio.gather(*(storage.acquire_token_bucket("a", 0.001, 5) for _ in range(64)))
        assert storage.degraded
        server.thaw()
        while storage.degraded:
            await asyncio.sleep(0.05)
        await storage.acquire_token_bucket("b", 0.001, 5)
        decisions = storage.local_decisions
        await storage.close()
        return sum(each.allowed for each in answers), decisions

    with redis_server() as server:
        local, decisions = run(scenario(server))
    assert local == 5
    assert decisions == 64
