"""What a plugin that hangs costs those who do not need it: resolve's latency, idle and while forty requests hang.

    python -m tools.bench.bench_hung_plugin [--seconds 3] [--rounds 5] [--connections 32] [kind ...]

``custodian``, ``ledger`` and ``keys`` hang in the service (``hanging_plugin``): forty connections send requests that need them, each again
when it is given up at the deadline of a second. ``prover`` is a worker process, at its own priority, that never returns from a call and
takes what processor it gets, on the server's core; it belongs to this process, which makes no difference to the kernel.
Target: p99 while it hangs at most twice that of the idle service.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tools.bench.rounds import Target, drive, middle, need_wrk, parser
from tools.bench.servers import UNLIMITED, Server, running
from tools.bench.wire import PREFIX, creation, did_path, make_dids

HANGING = 40
KINDS = ("custodian", "ledger", "keys", "prover")
ENVIRONMENT = {
    "IDENTITY_PLUGINS_MODULES": "tools.bench.hanging_plugin",
    "IDENTITY_PLUGINS_DISABLED": "did_ids",
    "IDENTITY_LEDGER_BACKEND": "faulty",
    "IDENTITY_PROVER_BACKEND": "bbs",
    "IDENTITY_CUSTODIAN_BACKEND": "faulty",
    "IDENTITY_KEY_STORES": "faulty,sql,env",
    "IDENTITY_LEDGER_DEADLINE_SECONDS": "1",
    "IDENTITY_CUSTODIAN_DEADLINE_SECONDS": "1",
    "IDENTITY_PLUGINS_DEADLINE_SECONDS": "1",
    # So that requests go on hanging instead of being refused at once.
    "IDENTITY_PLUGINS_FAILURES_TO_OPEN": "1000",
}


@contextlib.contextmanager
def service(fault: Path, folder: str, key: str) -> Iterator[Server]:
    """A service on the first core whose plugins hang when ``fault`` says so."""
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", folder]
    environment = ENVIRONMENT | UNLIMITED | {"API_KEY": key, "IDENTITY_TEST_FAULT": str(fault)}
    with running(command, environment, "/ready", status=200, pin=True) as server:
        yield server


@contextlib.contextmanager
def hanging(server: Server, kind: str, fault: Path, key: str) -> Iterator[Callable[[], int]]:
    """Forty connections whose requests hang; yields how many were given up."""
    fault.write_text(f"{kind}:hang")
    given_up: list[int] = []
    stop = threading.Event()

    def caller(number: int) -> None:
        # Spread over the deadline, as requests of strangers are.
        stop.wait(number / HANGING)
        parts = urlsplit(server.url)
        while not stop.is_set():
            connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
            unknown = secrets.token_hex(16) if kind == "keys" else key
            headers = {"X-API-Key": unknown, "Content-Type": "application/json"}
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("POST", f"{PREFIX}/dids", creation([]), headers)
                given_up.append(connection.getresponse().status)
            connection.close()

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(HANGING)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: sum(status >= 500 for status in given_up)
    finally:
        stop.set()
        fault.unlink()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def spinning() -> Iterator[Callable[[], int]]:
    """A worker process that does not come back, on the server's core."""
    from plugins.isolation.tests.crew import crew

    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    begun = threading.Event()

    async def hang() -> None:
        async with crew(deadline_seconds=600.0) as at:
            pid = await at.pid()
            os.sched_setaffinity(pid, {0})
            call = asyncio.create_task(at.prove("spin"))
            begun.set()
            await stop.wait()
            call.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(hang(),))
    thread.start()
    begun.wait(60)
    try:
        yield lambda: 1
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def main() -> None:
    options = parser(__doc__, rounds=5, seconds=3)
    options.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(KINDS)} [all]")
    given = options.parse_args()
    need_wrk()
    key = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=Path(__file__).parent) as folder:
        fault = Path(folder, "fault")
        with service(fault, str(Path(folder, "data")), key) as server:
            target = Target("resolve", "GET", did_path(make_dids(server, key, 1)[0].did), 200)
            print(
                f"{'':12}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'p99 to idle':>13}{'given up':>10}{'strange':>9}"
            )
            for kind in given.kinds or KINDS:
                idle, hung, given_up = [], [], 0
                # In turn, so that a neighbour on the machine hits both.
                for _ in range(given.rounds):
                    idle.append(drive(server, target, given.seconds, given.connections, pin=True))
                    with spinning() if kind == "prover" else hanging(server, kind, fault, key) as count:
                        hung.append(drive(server, target, given.seconds, given.connections, pin=True))
                        given_up += count()
                usual = middle(idle)
                for name, one in (("idle", usual), (f"{kind} hangs", middle(hung))):
                    ratio = one.p99_ms / usual.p99_ms
                    told = "" if name == "idle" else str(given_up)
                    print(
                        f"{name:16}{one.per_second:8.0f}{one.p50_ms:9.2f}{one.p99_ms:9.2f}{ratio:12.2f}x{told:>10}{one.strange:9}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
