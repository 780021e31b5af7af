"""Data directories filled with DIDs faster than over HTTP: real entries, made by the real method in several processes.

Each entry is drafted by ``did:ids``, carries a challenge that its controller signed, and is signed by the log key, which is put
into the custodian before any server starts. Such a log verifies like any other, and the server continues it.
Entries go through the ledger's own ``append`` and the index's own ``record`` (into PostgreSQL by ``COPY``: ``copying.py``), a version
of many DIDs after another, in the order of writes by many callers. HTTP, the limiter, the challenge table and the audit log are
left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import sqlite3
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import psycopg
import uvloop
from identity_custodian_sealed import SealedSettings, build
from identity_ledger_sql import SqlLedger
from identity_records.audit import audit_of

from identity_codec import multikey
from identity_core.bootstrap import SystemClock
from identity_core.bootstrap.ports import make_rows_key, rows_secret
from identity_core.plugin import BuildContext
from identity_core.store import Store
from identity_core.use_cases.dids.log_keys import LOG_KEY
from tests.events import open_store
from tools.bench.copying import Copying, batch_of
from tools.bench.entries import OWNER, Line, lines_of

T = TypeVar("T")

AT_ONCE = 1000  # entries of a batch; the writers' queues take 4,096


async def _store(ledger: SqlLedger, store: Store, lines: list[Line]) -> None:
    """Records one batch: durable appends, many to a commit, then the index."""
    receipts = await asyncio.gather(
        *(ledger.append(line.did, line.entry, expected_version=line.version - 1) for line in lines)
    )
    await store.documents.record(
        [line.recorded(receipt) for line, receipt in zip(lines, receipts, strict=True)],
        owner=OWNER,
    )


async def _open_installation(folder: Path, seed: bytes, url: str | None = None) -> tuple[SqlLedger, Store, bytes]:
    """Ledger and store of a new installation whose log key has this seed, and what the tags of its rows follow from."""
    clock = SystemClock()
    quiet = logging.getLogger("bench")
    quiet.setLevel(logging.ERROR)
    custodian = build(SealedSettings(), BuildContext(clock, quiet, folder, url))
    await custodian.import_key(LOG_KEY, multikey.ED25519, seed, did="-", purpose=LOG_KEY)
    await make_rows_key(custodian)
    secret = await rows_secret(custodian)
    await custodian.close()
    ledger, store = SqlLedger.open(folder, url, clock=clock, processes=1), open_store(folder, url, secret=secret)
    await audit_of(store).key_from_here()
    return ledger, store, secret


async def fill_here(folder: Path, count: int, versions: int, *, url: str | None = None) -> None:
    """Seeds the empty directory ``folder``, or the database at ``url``, with a few DIDs, in this process."""
    seed = os.urandom(32)
    ledger, store, _ = await _open_installation(folder, seed, url)
    try:
        await _store(ledger, store, lines_of(0, count, versions, seed, SystemClock().now()))
    finally:
        await store.close()
        await ledger.close()


def _make_in_processes(make: Callable[..., T], count: int, versions: int, *known: object) -> Iterator[Future[T]]:
    """What ``make`` gives for each batch of DIDs, in order, made in other processes: a few batches ahead and no more, or they
    would fill the memory."""
    step, cores = max(1, AT_ONCE // versions), os.cpu_count() or 1
    with ProcessPoolExecutor(cores, mp_context=multiprocessing.get_context("spawn")) as pool:
        coming: deque[Future[T]] = deque()
        for first in range(0, count, step):
            coming.append(pool.submit(make, first, min(step, count - first), versions, *known))
            if len(coming) > 2 * cores:
                yield coming.popleft()
        yield from coming


def _print_progress(done: int, size: int, count: int) -> None:
    """Says how far it is, ten times in all."""
    if done * 10 // count > (done - size) * 10 // count:
        print(f"seeded {done} of {count}", file=sys.stderr)


async def _fill(folder: Path, count: int, versions: int) -> list[str]:
    clock, seed = SystemClock(), os.urandom(32)
    ledger, store, _ = await _open_installation(folder, seed)
    dids: list[str] = []
    try:
        for lines in _make_in_processes(lines_of, count, versions, seed, clock.now()):
            batch = await asyncio.wrap_future(lines)
            await _store(ledger, store, batch)
            dids += [line.did for line in batch if line.version == 1]
            _print_progress(len(dids), len(batch) // versions, count)
    finally:
        await store.close()
        await ledger.close()
    return dids


async def _prepared(folder: Path, seed: bytes, url: str) -> bytes:
    """Makes the tables at ``url``, and returns what the tags of the index follow from."""
    ledger, store, secret = await _open_installation(folder, seed, url)
    await store.close()
    await ledger.close()
    return secret


def _copied(folder: Path, count: int, versions: int, url: str) -> list[str]:
    seed, now = os.urandom(32), SystemClock().now()
    secret = uvloop.run(_prepared(folder, seed, url))
    dids: list[str] = []
    with Copying(url) as copying:
        for made in _make_in_processes(batch_of, count, versions, seed, now, secret):
            batch = made.result()
            copying.add(batch)
            dids += batch.dids
            _print_progress(len(dids), len(batch.dids), count)
    return dids


def fill(folder: Path, count: int, versions: int, url: str | None = None) -> list[str]:
    """Seeds the empty directory ``folder``, and the empty database at ``url`` where there is one, and returns the DIDs; says how long it
    took."""
    began = time.monotonic()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if url is None:
        dids, how = uvloop.run(_fill(folder, count, versions)), "ledger.append and index.record"
    else:
        dids, how = _copied(folder, count, versions, url), "COPY"
    seconds, entries = time.monotonic() - began, count * versions
    print(
        f"seeded {count} DIDs x {versions} versions through did:ids, {how} in {seconds:.0f} s "
        f"({entries / seconds:.0f} entries a second)",
        flush=True,
    )
    return dids


def dids_in(folder: Path) -> list[str]:
    """The DIDs that ``fill`` put into a directory earlier; those that a benchmark created there since have another owner."""
    with contextlib.closing(sqlite3.connect(folder / "identity.sqlite")) as database:
        return [did for (did,) in database.execute("SELECT did FROM did_versions WHERE owner = ?", (OWNER,))]


def octets_per_version(folder: Path, entries: int, url: str | None) -> str:
    """What a version takes on the disk, by file; in a database, all of it."""
    if url is not None:
        with psycopg.connect(url) as database:
            (size,) = database.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        return f"the database {size / entries:.0f} bytes a version"
    sizes = {
        name: sum(file.stat().st_size for file in folder.glob(f"{name}.sqlite*")) for name in ("ledger", "identity")
    }
    return ", ".join(f"{name} {size / entries:.0f} bytes a version" for name, size in sizes.items())
