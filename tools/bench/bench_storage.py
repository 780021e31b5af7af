"""Appends a second through the ledger port, with latency and CPU; what a read of the document index and a challenge cost.

    python -m tools.bench.bench_storage [--seconds 3] [--callers 1 32 64] [--postgresql] [--replicas 4] [--disk 3]

Files go to ``--folder`` (default: the current directory), because a temporary folder is often no real disk. What an fsync
costs there is measured first: it decides what one caller can reach; then inserts of such rows and nothing else, the floor of the
port. ``--disk`` makes each fsync so many milliseconds slower, for the server too. CPU is that of the whole process. Every ledger
is checked afterwards: places, versions and hashes, row by row.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import multiprocessing
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from identity_ledger_sql import SqlLedger

from identity_core.database import migrate, open_database
from identity_core.ports.repositories import ChallengeUseRow
from identity_core.store import Store
from tests.fault.ledger_check import ROWS, check_chain, check_ledger
from tools.bench.figures import note, spread_of
from tools.bench.slow_disk import slow_disk

ENTRY = os.urandom(700)
DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpW{:06}"


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def fsync_milliseconds(folder: Path) -> float:
    """The median of 200 writes of a page, each followed by ``fdatasync``."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(200):
            os.pwrite(file.fileno(), ENTRY, 0)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


async def drive(callers: int, seconds: float, step: Callable[[int, int], Awaitable[object]]) -> list[float]:
    """Runs ``step(caller, turn)`` from so many callers; returns the seconds that each took."""
    latencies: list[float] = []
    stop = time.perf_counter() + seconds

    async def call(caller: int) -> None:
        turn = 0
        while (started := time.perf_counter()) < stop:
            await step(caller, turn)
            latencies.append(time.perf_counter() - started)
            turn += 1

    await asyncio.gather(*(call(caller) for caller in range(callers)))
    return latencies


def report(label: str, latencies: Sequence[float], seconds: float, cpu: float) -> None:
    """One line: throughput, percentiles, CPU an operation."""
    ordered = sorted(latencies)
    spread, rate = spread_of(latencies), len(ordered) / seconds
    p99 = ordered[int(len(ordered) * 0.99)] * 1e3
    note(label, spread=spread, per_second=rate, cpu_us=cpu / len(ordered) * 1e6, p99_ms=p99)
    print(
        f"{label:44} {rate:8.0f}/s  p50 {ordered[len(ordered) // 2] * 1e3:7.2f} ms"
        f"  p99 {p99:7.2f} ms  CPU {cpu / len(ordered) * 1e6:6.1f} µs"
    )


async def measured(label: str, callers: int, seconds: float, step: Callable[[int, int], Awaitable[object]]) -> None:
    """Drives and reports."""
    cpu, wall = time.process_time(), time.perf_counter()
    latencies = await drive(callers, seconds, step)
    report(label, latencies, time.perf_counter() - wall, time.process_time() - cpu)


async def appends(folder: Path, url: str | None, callers: int, seconds: float) -> None:
    """Appends through the port, each caller to its own DID."""
    ledger = SqlLedger.open(folder, url, clock=SystemClock(), processes=1)
    where = "PostgreSQL" if url else "SQLite"
    await measured(f"append, {where}, {callers} callers", callers, seconds, appending(ledger, 0))
    await ledger.close()


def appending(ledger: SqlLedger, first: int) -> Callable[[int, int], Awaitable[object]]:
    """A step that appends to the DID of its caller; ``first`` is the number of the first caller's."""
    return lambda caller, turn: ledger.append(DID.format(first + caller), ENTRY, expected_version=turn)


class Dialect(NamedTuple):
    """How a database wants its table and its parameters."""

    name: str
    place: str
    bytes_type: str
    mark: str


def inserts_alone(connection: Any, dialect: Dialect, seconds: float) -> None:
    """Rows of entries without a port, a chain or a reader: 64 a durable transaction, from one connection of the DB-API."""
    cursor = connection.cursor()
    data = dialect.bytes_type
    cursor.execute(
        f"CREATE TABLE entries (place {dialect.place} PRIMARY KEY, did TEXT, version INTEGER, entry {data}, hash {data})"
    )
    connection.commit()
    insert = f"INSERT INTO entries (did, version, entry, hash) VALUES ({', '.join([dialect.mark] * 4)})"
    latencies: list[float] = []
    cpu, began = time.process_time(), time.perf_counter()
    while (started := time.perf_counter()) < began + seconds:
        turn = len(latencies)
        cursor.executemany(insert, [(DID.format(caller), turn, ENTRY, ENTRY[:32]) for caller in range(64)])
        connection.commit()
        latencies += [time.perf_counter() - started] * 64
    cpu = time.process_time() - cpu
    report(f"inserts alone, {dialect.name}", latencies, time.perf_counter() - began, cpu)
    connection.close()


async def challenges(folder: Path, callers: int, seconds: float) -> None:
    """A challenge spent, which is one durable commit; before that it is stored nowhere."""
    store = Store.open(folder)
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)

    async def step(caller: int, turn: int) -> None:
        saying = hashlib.sha256(DID.format(caller).encode()).digest()[:16]
        await store.spent_challenges.spend(ChallengeUseRow(os.urandom(32), saying, turn, end))

    await measured(f"challenge spent, {callers} callers", callers, seconds, step)
    await store.close()


def replica(url: str, seconds: float, first: int, start: Barrier, told: Queue[tuple[list[float], float]]) -> None:
    """One process of several on one server, with 16 callers."""

    async def append() -> tuple[list[float], float]:
        ledger = SqlLedger.open(Path(), url, clock=SystemClock(), processes=1)
        start.wait()
        cpu = time.process_time()
        latencies = await drive(16, seconds, appending(ledger, first))
        cpu = time.process_time() - cpu
        await ledger.close()
        return latencies, cpu

    told.put(uvloop.run(append()))


def together(url: str, seconds: float, replicas: int) -> None:
    """Several processes on one ledger; their appends as one figure."""
    context = multiprocessing.get_context("spawn")
    start, told = context.Barrier(replicas), context.Queue()
    processes = [context.Process(target=replica, args=(url, seconds, 100 * n, start, told)) for n in range(replicas)]
    for process in processes:
        process.start()
    heard = [told.get() for _ in processes]
    for process in processes:
        process.join()
    latencies = [one for theirs, _ in heard for one in theirs]
    report(f"append, PostgreSQL, {replicas} x 16 callers", latencies, seconds, sum(cpu for _, cpu in heard))


def on_postgresql(folder: Path, callers: Sequence[int], seconds: float, replicas: int) -> None:
    """The same on a private server, then with several processes."""
    import psycopg

    from tests.postgres_server import PostgresServer

    server = PostgresServer.create(Path(tempfile.mkdtemp(dir=folder)), fsync=True)
    try:
        for number in callers:
            uvloop.run(appends(folder, server.new_database(), number, seconds))
        url = server.new_database()
        database = open_database(url, Path())
        migrate(database, "identity_ledger_sql.migrations", "ledger_")
        asyncio.run(database.close())
        together(url, seconds, replicas)
        with psycopg.connect(url) as connection:
            rows = connection.execute(ROWS).fetchall()
        check_chain(rows)
        alone = psycopg.connect(server.new_database())
        inserts_alone(alone, Dialect("PostgreSQL", "BIGSERIAL", "BYTEA", "%s"), seconds)
        print(f"{len(rows)} entries of {replicas} replicas: no fork, no gap, every hash right")
    finally:
        server.stop()


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 32, 64])
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--disk", type=float, default=0.0, metavar="MILLISECONDS")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-storage-", dir=options.folder.resolve()))
    folder.chmod(0o755)
    try:
        if options.disk:
            print(f"every fsync and fdatasync takes {options.disk} ms longer")
            # The loader reads its environment at a start, so this one starts itself again. The last option counts.
            again = [sys.executable, "-m", "tools.bench.bench_storage", *sys.argv[1:], "--disk", "0"]
            subprocess.run(again, env=slow_disk(options.disk, folder), check=True)
            return
        bench(folder, options.callers, options.seconds, options.replicas if options.postgresql else 0)
    finally:
        shutil.rmtree(folder)


def bench(folder: Path, callers: Sequence[int], seconds: float, replicas: int) -> None:
    """SQLite, and PostgreSQL with so many ``replicas`` unless that is none."""
    print(f"Python {sys.version.split()[0]}, fdatasync {fsync_milliseconds(folder):.2f} ms, {load()}")
    alone = sqlite3.connect(folder / "alone.sqlite")
    alone.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
    inserts_alone(alone, Dialect("SQLite", "INTEGER", "BLOB", "?"), seconds)
    for number in callers:
        place = folder / f"sqlite-{number}"
        place.mkdir()
        uvloop.run(appends(place, None, number, seconds))
        check_ledger(place, {})
        uvloop.run(challenges(place, number, seconds))
    if replicas:
        on_postgresql(folder, callers, seconds, replicas)
    print(load())


def load() -> str:
    """What else the machine does: the figures mean little beside others."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} in the last minute, {five:.1f} in five, on {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
