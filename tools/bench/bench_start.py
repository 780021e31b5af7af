"""How long people wait for a start, and its CPU: an empty directory, after a kill -9, and what answers ``--help``.

    python -m tools.bench.bench_start [--rounds 9] [--count 10000] [--workers 1 2] [--lost-index] [--folder .]

A start is measured from the creation of the process to the first 200 of ``/ready``, asked every 5 ms; its CPU is that of all its
processes until then, those of the prover too. ``--count 0`` leaves the restarts out. For them ``--count`` DIDs
are made; then, for each round, callers create more of them, everything is killed in mid-write, and it is started again
on what the kill left. ``--lost-index`` also deletes the document index first, so that the start folds the whole ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
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
from typing import NamedTuple

import uvloop

from tools.bench.figures import note
from tools.bench.servers import UNLIMITED, Server, pinned, serve
from tools.bench.wire import PREFIX, Wire, creation, encode_request, make_dids

LIBRARIES = (
    "import asyncio, cryptography.x509, msgspec, nacl.bindings, orjson, pluggy, sqlalchemy, sqlite3, uvicorn, uvloop"
)
CLIENT = "from identity_client import AsyncClient, Client, Expectation, Signer, sign_token, verify"
KEY = "bench-key-000000000000000000000000000000000"


class Cost(NamedTuple):
    """Seconds on the clock and of CPU."""

    wall: float
    cpu: float


def start(data_dir: Path, workers: int, then: Callable[[Server], None] | None = None) -> Cost:
    """From the process to ready; ``then`` is done with the server before it is stopped."""
    with serve(data_dir, workers=workers, limits=UNLIMITED, key=KEY) as server:
        cost = Cost(server.seconds, server.cpu_seconds())
        if then is not None:
            then(server)
        return cost


def kill_in_mid_write(server: Server) -> None:
    """SIGKILL to the whole process group while eight callers create."""
    uvloop.run(_kill(server))


async def _kill(server: Server) -> None:
    request = encode_request("POST", f"{PREFIX}/dids", {"X-API-Key": KEY}, creation([]))
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


def one_call(command: Sequence[str]) -> Cost:
    """A command that ends by itself."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(pinned(list(command), to_server=True), env=inherited, check=True, capture_output=True, timeout=60)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def line(label: str, costs: Sequence[Cost], wanted: float | None = None, *, kept: str = "") -> None:
    """Median and worst on the clock, median of the CPU. It is a figure by the name of ``kept``."""
    middle, cpu = statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs)
    worst = max(cost.wall for cost in costs)
    if kept:
        note(kept, seconds=middle, worst_seconds=worst, cpu_seconds=cpu)
    verdict = "" if wanted is None else f"  {'ok    ' if middle <= wanted else 'MISSED'} <= {wanted} s"
    print(f"{label:52} {middle:7.3f} s, worst {worst:7.3f} s, CPU {cpu:6.3f} s{verdict}", flush=True)


def main() -> None:
    """Measures and prints."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--rounds", type=int, default=9, help="starts of which the median is printed [9]")
    options_of.add_argument("--count", type=int, default=10_000, help="DIDs before the kill, 0 for none [10000]")
    options_of.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="numbers of processes [1 2]")
    options_of.add_argument("--lost-index", action="store_true")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options = options_of.parse_args()
    rounds, folder = range(options.rounds), options.folder.resolve()
    script = shutil.which("identity", path=str(Path(sys.executable).parent)) or "identity"
    for arguments in (["--help"], ["did", "--help"]):
        for command in ([script], [sys.executable, "-m", "identity_core"]):
            one_call([*command, *arguments])
            label = " ".join(["identity" if command[0] == script else "python -m identity_core", *arguments])
            line(label, [one_call([*command, *arguments]) for _ in rounds], 0.5)
    imports = [sys.executable, "-c", LIBRARIES]
    one_call(imports)
    line("an interpreter that imports libraries alone", [one_call(imports) for _ in rounds], kept="imports alone")
    for label, program in (("an interpreter alone", "pass"), ("an interpreter that imports the Python client", CLIENT)):
        one_call([sys.executable, "-c", program])
        line(label, [one_call([sys.executable, "-c", program]) for _ in rounds])
    for workers in options.workers:
        with tempfile.TemporaryDirectory(prefix="bench-start-", dir=folder) as place:
            many = f"{workers} process{'es' if workers > 1 else ''}"
            line(f"first start, {many}", [start(Path(place, f"new-{turn}"), workers) for turn in rounds])
            data_dir = Path(place, "data")
            start(data_dir, workers)
            again = [start(data_dir, workers) for _ in rounds]
            line(f"start on no DIDs after an orderly stop, {many}", again, 0.6, kept=f"start, {many}")
            if not options.count:
                continue
            start(data_dir, workers, lambda server: [*make_dids(server, KEY, options.count)].clear())
            line(
                f"start on {options.count} DIDs after an orderly stop, {many}",
                [start(data_dir, workers) for _ in rounds],
            )
            start(data_dir, workers, kill_in_mid_write)
            again = [start(data_dir, workers, kill_in_mid_write) for _ in rounds]
            line(
                f"start on {options.count}+ DIDs after kill -9, {many}", again, 1.5, kept=f"start after kill -9, {many}"
            )
            if options.lost_index:
                drop_index(data_dir)
                line(f"start on {options.count}+ DIDs without an index, {many}", [start(data_dir, workers)])


if __name__ == "__main__":
    main()
