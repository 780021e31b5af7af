"""One process of the attack on a shared bucket: threads that hit one key until they are told to stop, and count.

``python -m tests.attack.limiter_process URL THREADS SECONDS RATE BURST`` prints one JSON object: when the first hit began
and the last ended (the machine's monotonic clock), how many were allowed, refused, and how many found the store at fault.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from threading import Lock, Thread

import identity_postgresql.buckets  # noqa: F401 - registers its scheme
import identity_redis.buckets as redis_throttle
import identity_server_processes.sqlite  # noqa: F401 - each registers its scheme
from limits.storage import storage_from_string

PAUSE_SECONDS = 0.02
# The service gives Redis 50 ms and then continues alone. Here no limiter may continue alone: with so many clients on few processors,
# answers are late, and a limiter that has given up does not know whether it took a token.
redis_throttle.ANSWER_SECONDS = 30.0


def main(url: str, threads: int, seconds: float, rate: float, burst: int) -> None:
    # A store in this machine serves all threads of a process; one behind a socket belongs to a thread's event loop.
    shared = storage_from_string(url) if "+memory" in url or "+sql:" in url else None
    counts = {"allowed": 0, "refused": 0, "faults": 0}
    lock = Lock()

    async def hit(until: float) -> None:
        storage = shared or storage_from_string(url)
        mine = dict.fromkeys(counts, 0)
        while time.monotonic() < until:
            try:
                decision = await storage.acquire_token_bucket("attacked", rate, burst)
                mine["allowed" if decision.allowed else "refused"] += 1
            except storage.base_exceptions:
                mine["faults"] += 1
            await asyncio.sleep(PAUSE_SECONDS)
        if shared is None:
            await storage.close()
        with lock:
            for outcome, count in mine.items():
                counts[outcome] += count

    began = time.monotonic()
    workers = [Thread(target=lambda: asyncio.run(hit(began + seconds))) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps({"began": began, "ended": time.monotonic(), **counts}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
