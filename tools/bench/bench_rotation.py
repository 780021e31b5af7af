"""Keys of the service are rotated in the middle of the work of 32 clients: refused requests, and the slowest of a hundred.

    python -m tools.bench.bench_rotation [--rounds 3] [--seconds 8] [--workers 2] [--folder .] [log checkpoint token seal]

Each client creates a DID and fetches an access token, in turn, without a pause; where the key of checkpoints is rotated, it fetches a
checkpoint over everything instead of the token. A round is so many seconds without a rotation and then those of ``identity keys rotate``,
which is a process of its own, and one second more, in which the last process hears of it; the promise is for the second part: nothing
refused, and p99 at most twice that of the first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import uvloop

from tools.bench.servers import ROOT, UNLIMITED, Server, fdatasync_ms, serve
from tools.bench.wire import PREFIX, Wire, creation, encode_request

CLIENTS = 32
MOST = 2.0
AFTER_SECONDS = 1.0
KEY = "bench-rotation-key-00000000000000000000000"


@dataclass
class Part:
    """What was answered in one part of a round: latencies in seconds, and how many requests were refused."""

    latencies: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def p99_ms(self) -> float:
        return statistics.quantiles(self.latencies, n=100)[98] * 1000


class Load:
    """The clients; what they are answered is counted in ``part``."""

    def __init__(self, requests: Sequence[bytes]) -> None:
        self.part = Part()
        self.is_over = False
        self.requests = requests

    async def client(self, server: Server) -> None:
        wire = await Wire.open(server.url)
        for request in cycle(self.requests):
            if self.is_over:
                break
            # Counted where it began.
            part, began = self.part, time.perf_counter()
            reply = await wire.call(request)
            part.latencies.append(time.perf_counter() - began)
            part.refused += reply.status not in (200, 201)
        wire.close()


def requests_for(key: str) -> tuple[bytes, bytes]:
    """What each client sends in turn while ``key`` is rotated."""
    header = {"X-API-Key": KEY}
    create = encode_request("POST", f"{PREFIX}/dids", header, creation([]))
    if key == "checkpoint":
        return create, encode_request("GET", f"{PREFIX}/ledger/checkpoint?quorum=any", header)
    return create, encode_request("POST", f"{PREFIX}/auth/token", header, '{"grant_type":"client_credentials"}')


async def one_round(server: Server, data: Path, key: str, seconds: float) -> tuple[Part, Part]:
    """The part without a rotation, and that with one. Raises ``SystemExit`` where the rotation fails."""
    load = Load(requests_for(key))
    clients = [asyncio.create_task(load.client(server)) for _ in range(CLIENTS)]
    await asyncio.sleep(1)
    without = load.part = Part()
    await asyncio.sleep(seconds)
    beside = load.part = Part()
    words = ["-m", "identity_core", "keys", "rotate", key, "--data-dir", str(data)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    command = await asyncio.create_subprocess_exec(
        sys.executable, *words, cwd=ROOT, env=inherited, stdout=subprocess.DEVNULL
    )
    status = await command.wait()
    await asyncio.sleep(AFTER_SECONDS)
    load.part, load.is_over = Part(), True
    await asyncio.gather(*clients)
    if status:
        raise SystemExit(f"identity keys rotate {key} ended with {status}")
    return without, beside


def bench(key: str, options: argparse.Namespace) -> None:
    """Prints the rounds of one key, and the verdict over their medians."""
    ratios, refused = [], 0
    for _ in range(options.rounds):
        # A new installation: a second rotation of the log key also hands on every DID that slept through the first.
        with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as place:
            data = Path(place)
            with serve(data, workers=options.workers, limits=UNLIMITED, key=KEY) as server:
                without, beside = uvloop.run(one_round(server, data, key, options.seconds))
        refused += without.refused + beside.refused
        ratios.append(beside.p99_ms / without.p99_ms)
        counts = f"{len(without.latencies)} + {len(beside.latencies)} requests"
        print(f"{key:<10} p99 {without.p99_ms:7.1f} ms, {beside.p99_ms:7.1f} ms beside; {counts}", flush=True)
    ratio = statistics.median(ratios)
    verdict = "ok" if not refused and ratio <= MOST else "MISSED"
    print(
        f"{verdict:<6} {key}: {refused} refused (0), p99 {ratio:.2f}x (<= {MOST}x), load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("keys", nargs="*", default=["log", "checkpoint", "token", "seal"])
    options = parser.parse_args()
    print(f"fdatasync {fdatasync_ms(options.folder):.2f} ms", flush=True)
    for key in options.keys:
        bench(key, options)


if __name__ == "__main__":
    main()
