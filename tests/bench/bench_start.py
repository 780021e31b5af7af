"""How long people wait for a start: an empty directory, after a kill -9, and ``identity --help``.

    python -m tests.bench.bench_start [--rounds 5] [--count 10000] [--workers 1 2] [--lost-index] [--folder .]

A start is measured from the creation of the process to the first 200 of ``/ready``, asked every 5 ms. For the restart ``--count`` DIDs
are made; then, for each round, callers create more of them, everything is killed in mid-write, and it is started again
on what the kill left. ``--lost-index`` also deletes the document index first, so that the start folds the whole ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uvloop

from tests.bench.servers import UNLIMITED, Server, pinned, serve
from tests.bench.wire import PREFIX, Wire, creation, make_dids, octets

KEY = "bench-key-000000000000000000000000000000000"


def start(data_dir: Path, workers: int, then: Callable[[Server], None] | None = None) -> float:
    """Seconds from the process to ready; ``then`` is done with the server before it is stopped."""
    with serve(data_dir, workers=workers, limits=UNLIMITED, key=KEY) as server:
        if then is not None:
            then(server)
        return server.seconds


def kill_in_mid_write(server: Server) -> None:
    """SIGKILL to the whole process group while eight callers create."""
    uvloop.run(_kill(server))


async def _kill(server: Server) -> None:
    request = octets("POST", f"{PREFIX}/dids", {"X-API-Key": KEY}, creation([]))
    wires = [await Wire.open(server.url) for _ in range(8)]

    async def create(wire: Wire) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await wire.call(request)

    callers = [asyncio.ensure_future(create(wire)) for wire in wires]
    await asyncio.sleep(0.5)
    os.killpg(server.pid, signal.SIGKILL)
    _, late = await asyncio.wait(callers, timeout=5)
    for caller in late:
        caller.cancel()
    for wire in wires:
        wire.close()


def drop_index(data_dir: Path) -> None:
    """What a lost index costs: everything is folded anew from the ledger."""
    with contextlib.closing(sqlite3.connect(data_dir / "identity.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM did_versions")
        database.execute("DELETE FROM projections")


def help_seconds(command: Sequence[str]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    subprocess.run(pinned(list(command), to_server=True), check=True, capture_output=True, timeout=60)
    return time.perf_counter() - began


def line(label: str, seconds: Sequence[float], wanted: float | None = None) -> None:
    """Median and worst."""
    middle = statistics.median(seconds)
    verdict = "" if wanted is None else f"  {'ok    ' if middle <= wanted else 'MISSED'} <= {wanted} s"
    print(f"{label:52} {middle:7.3f} s, worst {max(seconds):7.3f} s{verdict}", flush=True)


def main() -> None:
    """Measures and prints."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--rounds", type=int, default=5, help="starts of which the median is printed [5]")
    options_of.add_argument("--count", type=int, default=10_000, help="DIDs before the kill [10000]")
    options_of.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="numbers of processes [1 2]")
    options_of.add_argument("--lost-index", action="store_true")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options = options_of.parse_args()
    rounds, folder = range(options.rounds), options.folder.resolve()
    script = shutil.which("identity", path=str(Path(sys.executable).parent))
    for command in filter(None, (script and [script, "--help"], [sys.executable, "-m", "identity_core", "--help"])):
        help_seconds(command)
        line(
            "identity --help" if command[0] == script else "python -m identity_core --help",
            [help_seconds(command) for _ in rounds],
            0.5,
        )
    for workers in options.workers:
        with tempfile.TemporaryDirectory(prefix="bench-start-", dir=folder) as place:
            many = f"{workers} process{'es' if workers > 1 else ''}"
            line(f"first start, {many}", [start(Path(place, f"new-{turn}"), workers) for turn in rounds])
            data_dir = Path(place, "data")
            start(data_dir, workers, lambda server: [*make_dids(server, KEY, options.count)].clear())
            line(
                f"start on {options.count} DIDs after an orderly stop, {many}",
                [start(data_dir, workers) for _ in rounds],
            )
            start(data_dir, workers, kill_in_mid_write)
            again = [start(data_dir, workers, kill_in_mid_write) for _ in rounds]
            line(f"start on {options.count}+ DIDs after kill -9, {many}", again, 3.0)
            if options.lost_index:
                drop_index(data_dir)
                line(f"start on {options.count}+ DIDs without an index, {many}", [start(data_dir, workers)])


if __name__ == "__main__":
    main()
