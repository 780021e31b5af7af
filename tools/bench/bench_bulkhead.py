"""The cost of the plugin border for a call: ``python tools/bench/bench_bulkhead.py``.

Prints the median of several rounds of CPU microseconds a call, direct and guarded, for a coroutine that ends without
suspending, one that suspends once, and a synchronous method on a pool of threads.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from identity_core.plugin import in_threads
from identity_core.plugin.border import Bulkhead
from identity_core.plugin.border import guard as guarded
from identity_core.plugin.limits import Limits
from identity_core.plugin.sockets import KEY_STORE, LEDGER
from identity_core.ports.key_store import KeyStore
from identity_core.ports.ledger import LedgerBackend, LogSize, Receipt

RECEIPT = Receipt("00" * 32, 1, 1, datetime.now(UTC))


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class Immediate:
    async def append(self, did, entry, *, expected_version):
        return RECEIPT

    async def entries(self, did, *, after=0, limit=None):
        return ()

    async def log_size(self, did):
        return LogSize(0, 0)

    async def entries_after(self, sequence, limit):
        return ()

    async def head(self): ...


class Waiting(Immediate):
    async def append(self, did, entry, *, expected_version):
        await asyncio.sleep(0)
        return RECEIPT


class Lookup:
    async def find(self, digest):
        return None


class SynchronousLookup:
    def find(self, digest):
        return None


def bulkhead(socket) -> Bulkhead:
    return Bulkhead("bench", Limits(5.0, 512, 5, 5.0), socket.contract, SystemClock(), logging.getLogger("bench"))


async def measure(call: Callable[[], Awaitable[object]], count: int) -> float:
    rounds = []
    for _ in range(7):
        began = time.process_time()
        for _ in range(count):
            await call()
        rounds.append((time.process_time() - began) / count * 1e6)
    return statistics.median(rounds)


async def compare(title: str, direct, behind, count: int) -> None:
    plain, border = await measure(direct, count), await measure(behind, count)
    print(f"{title:44} direct {plain:7.2f} µs   behind the border {border:7.2f} µs   cost {border - plain:6.2f} µs")


async def main() -> None:
    for title, thing in (("append, ends without suspending", Immediate()), ("append, suspends once", Waiting())):
        behind = guarded(thing, LedgerBackend, bulkhead(LEDGER))
        await compare(
            title,
            lambda thing=thing: thing.append("did:ids:x", b"", expected_version=0),
            lambda behind=behind: behind.append("did:ids:x", b"", expected_version=0),
            50_000,
        )
    thing, behind = Lookup(), guarded(Lookup(), KeyStore, bulkhead(KEY_STORE))
    await compare("find, ends without suspending", lambda: thing.find(""), lambda: behind.find(""), 50_000)
    threads = in_threads(SynchronousLookup(), workers=2)
    behind = guarded(threads, KeyStore, bulkhead(KEY_STORE))
    await compare("find on a thread", lambda: threads.find(""), lambda: behind.find(""), 5_000)


if __name__ == "__main__":
    asyncio.run(main())
