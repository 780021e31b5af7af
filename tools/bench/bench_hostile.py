"""What honest callers notice while hostile ones hold the door: latency and resident memory, idle and under each attack.

    python -m tools.bench.bench_hostile [--seconds 15] [--rounds 3] [--workers 1] [--one-address] [attack ...]

The service runs with the settings that it comes with, so with its limits of connections and its buckets, and the attackers come from
four addresses (``hostile.py``); with ``--one-address`` they come from one, and nothing is limited by address: not connections, not
requests. The honest caller comes from a fifth: with its API key it resolves a DID 80 times a second over a kept connection, every tenth
time over a new one. Idle and attack are measured in turn. Everything is on loopback, bounded in number and time.

Asked for: p99 at most twice that of idle, resident memory at most 64 MiB more, 256 KiB for each slow reader. A round measures
about a thousand requests, so its p99 is the tenth worst; the median over the rounds is printed. On a machine that others
use too, idle itself varies by more than that.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.long_log import write_long_log
from tools.bench.hostile import ATTACKS
from tools.bench.rounds import parser
from tools.bench.servers import ROOT, UNLIMITED, Server, on_client_core, pinned, serve
from tools.bench.wire import creation, did_path, make_dids

KEY = "bench-key-000000000000000000000000000000000"
HONEST = "127.0.0.5"
PER_SECOND = 80
WARM_SECONDS = 3.0
MEBIBYTE = 2**20
WANTED_RATIO, WANTED_MIB = 2.0, 64.0
NOT_BY_ADDRESS = UNLIMITED | {"IDENTITY_SERVER_MAX_CONNECTIONS_PER_ADDRESS": "100000"}


@dataclass(frozen=True)
class Seen:
    """What one round saw. ``failed`` counts requests of the honest caller that were not answered with 200."""

    p50_ms: float
    p99_ms: float
    worst_ms: float
    failed: int
    resident: int


class Honest:
    """A caller who pauses between requests, as callers do."""

    def __init__(self, server: Server, path: str) -> None:
        self._port = urlsplit(server.url).port or 80
        self._octets = b"GET %s HTTP/1.1\r\nHost: h\r\nX-API-Key: %s\r\n\r\n" % (path.encode(), KEY.encode())
        self._kept = self._connect()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), 10, source_address=(HONEST, 0))

    def call(self, *, anew: bool) -> bool:
        """One request; whether it was answered as it should be."""
        try:
            if anew:
                with self._connect() as connection:
                    return self._exchange(connection)
            return self._exchange(self._kept)
        except OSError:
            self._kept.close()
            self._kept = self._connect()
            return False

    def _exchange(self, connection: socket.socket) -> bool:
        connection.sendall(self._octets)
        received = b""
        while True:
            more = connection.recv(65536)
            if not more:
                raise ConnectionError
            received += more
            head, found, body = received.partition(b"\r\n\r\n")
            if found and len(body) >= int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]):
                return received.startswith(b"HTTP/1.1 200 ")


def resident(server: Server) -> int:
    """Memory of the server's processes that is their own, in bytes."""
    lines = [(folder / "status").read_text() for folder in server.family().values()]
    return sum(int(text.partition("RssAnon:")[2].split()[0]) * 1024 for text in lines)


def measure(server: Server, honest: Honest, seconds: float) -> Seen:
    """The honest caller for a while, and the highest memory of that while."""
    latencies, failed, highest = [], 0, 0
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.perf_counter()
        failed += not honest.call(anew=number % 10 == 9)
        latencies.append((time.perf_counter() - began) * 1000)
        if number % 40 == 0:
            highest = max(highest, resident(server))
        number += 1
        time.sleep(max(0.0, 1 / PER_SECOND - (time.perf_counter() - began)))
    latencies.sort()
    return Seen(latencies[len(latencies) // 2], latencies[int(len(latencies) * 0.99)], latencies[-1], failed, highest)


def attacked(server: Server, honest: Honest, kind: str, seconds: float, addresses: int) -> Seen:
    """The same while the attack is on, from so many addresses."""
    port, lasting = str(urlsplit(server.url).port), str(seconds + WARM_SECONDS + 1)
    command = [sys.executable, "-m", "tools.bench.hostile", kind, port, lasting, str(addresses)]
    attack = subprocess.Popen(pinned(["nice", "-n", "10", *command], to_server=False), cwd=ROOT)
    try:
        time.sleep(WARM_SECONDS)
        return measure(server, honest, seconds)
    finally:
        attack.wait(seconds + 60)


def main() -> None:
    """Measures and prints."""
    options = parser(__doc__, rounds=3, seconds=15)
    options.add_argument("--workers", type=int, default=1, help="server processes [1]")
    options.add_argument(
        "--one-address", action="store_true", help="attack from one address, with no limits by address"
    )
    options.add_argument("attack", nargs="*", help=f"some of {', '.join(ATTACKS)} [all]")
    given = options.parse_args()
    limits, addresses = (NOT_BY_ADDRESS, 1) if given.one_address else ({}, 4)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as place,
        serve(Path(place), workers=given.workers, limits=limits, key=KEY) as server,
        on_client_core(pin=given.workers == 1),
    ):
        honest = Honest(server, did_path(make_dids(server, KEY, 1, creation([]))[0].did))
        asyncio.run(write_long_log(Path(place), None))
        measure(server, honest, 2)
        print(f"{'attack':>13} {'idle p99':>9} {'p50':>7} {'p99':>7} {'worst':>7} ms {'ratio':>6} {'memory':>9} failed")
        for kind in given.attack or ATTACKS:
            rounds = [
                (measure(server, honest, given.seconds), attacked(server, honest, kind, given.seconds, addresses))
                for _ in range(given.rounds)
            ]
            show(kind, rounds)


def show(kind: str, rounds: list[tuple[Seen, Seen]]) -> None:
    """One line of medians; memory is the largest growth, failures are added up."""
    idle = statistics.median(before.p99_ms for before, _ in rounds)
    p50 = statistics.median(seen.p50_ms for _, seen in rounds)
    p99 = statistics.median(seen.p99_ms for _, seen in rounds)
    worst = statistics.median(seen.worst_ms for _, seen in rounds)
    ratio = statistics.median(seen.p99_ms / before.p99_ms for before, seen in rounds)
    grown = max(seen.resident - before.resident for before, seen in rounds) / MEBIBYTE
    failed = sum(seen.failed + before.failed for before, seen in rounds)
    verdict = "" if ratio <= WANTED_RATIO and grown <= WANTED_MIB and not failed else "  MISSED"
    print(
        f"{kind:>13} {idle:9.2f} {p50:7.2f} {p99:7.2f} {worst:7.2f}    {ratio:6.2f} {grown:+8.1f}M {failed:6}{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
