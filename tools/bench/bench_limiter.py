"""What a decision of the limiter costs, whether the bound holds, and what a frozen Redis costs a request.

Run: ``python -m tools.bench.bench_limiter [--rounds 7]`` from the root. CPU time is that of this process and does not depend on
neighbours; wall time does. The bound is allowed ≤ burst + rate·t + 1 over four processes; targets: about 1 µs in memory,
11 µs in SQLite, at most 60 ms for the one request that finds Redis frozen.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from identity_postgresql.buckets import TokenBucketPostgresqlStorage
from identity_redis.buckets import TokenBucketRedisStorage
from identity_server_processes.fallback import FallbackStorage
from identity_server_processes.sqlite import TokenBucketSqliteStorage

from identity_core.domain.callers import ApiKey
from identity_core.throttle.memory import TokenBucketMemoryStorage, TokenBucketStorage
from identity_core.throttle.policy import Policy, TokenBucketRateLimiter
from tests.attack.test_limiter import attack
from tests.postgres_server import PostgresServer, programs
from tests.redis_server import RedisServer, redis_server

DEADLINE_SECONDS = 0.05


async def cost(
    decide: Callable[[], Awaitable[object]], count: int, together: int = 1, *, rounds: int
) -> tuple[float, float]:
    """Median wall and CPU microseconds of one decision, ``together`` of them at once."""

    async def some() -> None:
        for _ in range(count // together):
            await decide()

    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(some() for _ in range(together)))
        walls.append((time.perf_counter() - wall) / count * 1e6)
        cpus.append((time.process_time() - cpu) / count * 1e6)
    return median(walls), median(cpus)


def line(what: str, figures: tuple[float, float]) -> None:
    print(f"{what:<44} {figures[0]:8.2f} {figures[1]:8.2f}")


def guarded(shared: TokenBucketStorage, deadline: float | None) -> FallbackStorage:
    return FallbackStorage(
        shared,
        processes=1,
        monotonic=time.monotonic,
        logger=logging.getLogger("buckets"),
        deadline_seconds=deadline,
    )


async def decisions(directory: Path, redis_url: str, postgres_url: str | None, rounds: int) -> None:
    measured = partial(cost, rounds=rounds)
    memory = TokenBucketMemoryStorage(monotonic=time.monotonic)
    policy = Policy(TokenBucketRateLimiter(memory))
    key = ApiKey("a", "a", "0" * 64, None, None, 1e6, 1_000_000, datetime.now(UTC))
    line("memory, allowed", await measured(lambda: memory.acquire_token_bucket("a", 1e6, 1_000_000), 50_000))
    line("memory, refused", await measured(lambda: memory.acquire_token_bucket("b", 0.001, 1), 50_000))
    line("memory, policy with header fields", await measured(lambda: policy.spend_key(key), 50_000))
    stores: list[tuple[str, TokenBucketStorage, float | None, int]] = [
        (
            "SQLite",
            TokenBucketSqliteStorage.open(directory / "limits.sqlite", monotonic=time.monotonic),
            None,
            10_000,
        ),
        ("Redis", TokenBucketRedisStorage(f"async+tokenbucket+{redis_url}"), DEADLINE_SECONDS, 2_000),
    ]
    if postgres_url is not None:
        postgresql = TokenBucketPostgresqlStorage(f"async+tokenbucket+{postgres_url}")
        stores.append(("PostgreSQL", postgresql, DEADLINE_SECONDS, 1_000))
    for name, shared, deadline, count in stores:
        # Without the fallback in between nothing can slip into a local bucket and look fast.
        passing = partial(shared.acquire_token_bucket, "a", 1e6, 1_000_000)
        line(f"{name}, allowed", await measured(passing, count))
        line(f"{name}, refused", await measured(partial(shared.acquire_token_bucket, "b", 0.001, 1), count))
        line(f"{name}, 32 at once", await measured(passing, count, 32))
        storage = guarded(shared, deadline)
        passing = partial(storage.acquire_token_bucket, "a", 1e6, 1_000_000)
        line(f"{name}, with deadline and fallback", await measured(passing, count))
        if storage.local_decisions:
            print(f"  ({storage.local_decisions} of them were local)")
        await storage.close()


def bounds(directory: Path, redis_url: str, postgres_url: str | None) -> None:
    runs = [
        ("memory, 1 process x 64 threads", "memory://", 1, 64),
        ("SQLite, 4 x 64", f"sql://{directory}/bounds.sqlite", 4, 64),
        ("Redis, 4 x 64", redis_url, 4, 64),
    ]
    if postgres_url is not None:
        runs.append(("PostgreSQL, 4 x 10", postgres_url, 4, 10))
    for name, url, processes, threads in runs:
        result = attack(f"async+tokenbucket+{url}", processes, threads)
        share = result["allowed"] / result["bound"]
        print(
            f"{name:<32} allowed {result['allowed']:4.0f} of at most {result['bound']:6.1f} ({share:4.0%}),"
            f" refused {result['refused']:6.0f}, faults {result['faults']:.0f}"
        )


async def frozen(server: RedisServer, rounds: int) -> None:
    async def timed(storage: FallbackStorage) -> float:
        started = time.perf_counter()
        await storage.acquire_token_bucket("a", 100.0, 200)
        return (time.perf_counter() - started) * 1e3

    firsts, seconds = [], []
    for _ in range(rounds):
        storage = guarded(TokenBucketRedisStorage(f"async+tokenbucket+{server.url}"), DEADLINE_SECONDS)
        await timed(storage)
        server.freeze()
        firsts.append(await timed(storage))
        seconds.append(await timed(storage))
        server.thaw()
        await storage.close()
    print(f"Redis frozen: the request that finds out {median(firsts):.1f} ms (worst {max(firsts):.1f}),", end=" ")
    print(f"the next {median(seconds) * 1e3:.0f} µs")
    server.process.kill()
    server.process.wait()
    storage = guarded(TokenBucketRedisStorage(f"async+tokenbucket+{server.url}"), DEADLINE_SECONDS)
    print(f"Redis down: the request that finds out {await timed(storage):.1f} ms")
    await storage.close()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the median is printed [7]")
    return parser.parse_args()


def main() -> None:
    rounds = options().rounds
    logging.getLogger("buckets").setLevel(logging.ERROR)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(redis_server())
        postgres_url = None
        if programs() is not None:
            postgres = PostgresServer.create(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            stack.callback(postgres.stop)
            postgres_url = postgres.new_database()
        print(f"{'µs a decision, median of ' + str(rounds):<44} {'wall':>8} {'CPU':>8}")
        asyncio.run(decisions(directory, server.url, postgres_url, rounds))
        bounds(directory, server.url, postgres_url)
        asyncio.run(frozen(server, rounds))


if __name__ == "__main__":
    main()
