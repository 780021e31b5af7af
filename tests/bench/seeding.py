"""Fills a data directory with DIDs faster than HTTP could: real entries, made by the real method in several processes.

Each entry is drafted by ``did:ids``, carries a challenge that its controller signed, and is signed by the log key, which is put
into the custodian before any server starts; so a log from here verifies like any other, and the server goes on writing it.
They go through the ledger's own ``append`` and the index's own ``record``, a version of many DIDs after another, as writes
of many callers would lie. What is left out is the way to there: HTTP, the limiter, the challenge table and the audit log.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import uvloop
from identity_custodian_sealed import SealedSettings, build
from identity_did_ids import DidIds, DidIdsSettings
from identity_ledger_sql import SqlLedger

from identity_core.bootstrap import SystemClock
from identity_core.bootstrap.ports import make_rows_key, rows_secret
from identity_core.codec import multikey
from identity_core.conformance.controller import Controller
from identity_core.crypto import ed25519
from identity_core.domain.dids import differences
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Create, NewService, Update, UpdateService
from identity_core.domain.dids.state import state_from_json, state_to_json
from identity_core.plugin import BuildContext
from identity_core.ports.repositories import IndexedVersion
from identity_core.store import Store
from identity_core.use_cases.dids.log_keys import LOG_KEY

OWNER = "key:seeding"
AT_ONCE = 1000  # entries of a batch; the writers' queues take 4,096


@dataclass(frozen=True, slots=True)
class Line:
    """One entry and the state that it leads to, as octets, because they come from another process."""

    did: str
    version: int
    entry: bytes
    metadata: bytes
    document: bytes
    changes: tuple[str, ...]
    key_id: str | None


def lines_of(first: int, count: int, versions: int, log_seed: bytes, now: datetime) -> list[Line]:
    """The entries of some DIDs, all first versions first."""
    method, log_key = DidIds(DidIdsSettings()), ed25519.generate(log_seed)
    signer = multikey.encode_public(multikey.ED25519, log_key.public)
    rows: list[list[Line]] = [[] for _ in range(versions)]
    for number in range(first, first + count):
        controller = Controller(f"bench/{log_seed.hex()}/{number}")
        state = None
        for place in range(versions):
            at = now - timedelta(hours=versions - place, microseconds=number)
            service = NewService("LinkedDomains", f"https://hana.example/{place}", "files")
            change: Create | Update
            if state is None:
                change = Create((controller.new_key(),), (signer,), (service,))
            else:
                key = history.authentication_keys(state, at)[0]
                wanted = {"id": service.fragment, "type": service.type, "serviceEndpoint": service.endpoint}
                body = {"operation": "updateService", "service": wanted}
                authorization = controller.authorize(str(state.did), key, at, purpose="update", body=body)
                change = Update((UpdateService(service),), authorization)
            draft = method.draft(state, change, at, signer=signer)
            signature = log_key.sign(draft.signing_input)
            after = draft.state
            line = Line(
                str(after.did),
                place + 1,
                draft.sealed(signature),
                state_to_json(after),
                after.document.octets,
                differences.changes(state, after),
                after.key_id,
            )
            rows[place].append(line)
            state = after
    return [line for row in rows for line in row]


async def _store(ledger: SqlLedger, store: Store, lines: list[Line]) -> None:
    """Records one batch: durable appends, many to a commit, then the index."""
    receipts = await asyncio.gather(
        *(ledger.append(line.did, line.entry, expected_version=line.version - 1) for line in lines)
    )
    await store.documents.record(
        [
            IndexedVersion(state_from_json(line.did, line.metadata, line.document), receipt, line.changes)
            for line, receipt in zip(lines, receipts, strict=True)
        ],
        owner=OWNER,
    )


async def _opened(folder: Path, seed: bytes, url: str | None = None) -> tuple[SqlLedger, Store]:
    """Ledger and store of a new installation whose log key has this seed."""
    clock = SystemClock()
    quiet = logging.getLogger("bench")
    quiet.setLevel(logging.ERROR)
    custodian = build(SealedSettings(), BuildContext(clock, quiet, folder, url))
    await custodian.import_key(LOG_KEY, multikey.ED25519, seed, did="-", purpose=LOG_KEY)
    await make_rows_key(custodian)
    secret = await rows_secret(custodian)
    await custodian.close()
    ledger, store = SqlLedger.open(folder, url, clock=clock, processes=1), Store.open(folder, url, secret=secret)
    await store.audit.key_from_here()
    return ledger, store


async def fill_here(folder: Path, count: int, versions: int, *, url: str | None = None) -> None:
    """Seeds the empty directory ``folder``, or the database at ``url``, with a few DIDs, in this process."""
    seed = os.urandom(32)
    ledger, store = await _opened(folder, seed, url)
    try:
        await _store(ledger, store, lines_of(0, count, versions, seed, SystemClock().now()))
    finally:
        await store.close()
        await ledger.close()


async def _fill(folder: Path, count: int, versions: int, url: str | None) -> list[str]:
    clock, seed = SystemClock(), os.urandom(32)
    ledger, store = await _opened(folder, seed, url)
    now, step = clock.now(), max(1, AT_ONCE // versions)
    dids: list[str] = []
    told = 0
    loop = asyncio.get_running_loop()
    context = multiprocessing.get_context("spawn")
    cores = os.cpu_count() or 1
    try:
        with ProcessPoolExecutor(cores, mp_context=context) as pool:
            supply = iter(range(0, count, step))
            made: deque[asyncio.Future[list[Line]]] = deque()

            def ask(first: int) -> None:
                size = min(step, count - first)
                made.append(loop.run_in_executor(pool, lines_of, first, size, versions, seed, now))

            # A few batches ahead and no more, or the makers would fill the memory.
            for _, first in zip(range(2 * cores), supply, strict=False):
                ask(first)
            while made:
                lines = await made.popleft()
                for first in supply:
                    ask(first)
                    break
                await _store(ledger, store, lines)
                dids += [line.did for line in lines if line.version == 1]
                if len(dids) * 10 // count > told:
                    told = len(dids) * 10 // count
                    print(f"seeded {len(dids)} of {count}", file=sys.stderr)
    finally:
        await store.close()
        await ledger.close()
    return dids


def fill(folder: Path, count: int, versions: int, url: str | None = None) -> list[str]:
    """Seeds the empty directory ``folder``, and the database at ``url`` where there is one, and returns the DIDs; says how long it took."""
    began = time.monotonic()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    dids = uvloop.run(_fill(folder, count, versions, url))
    seconds, entries = time.monotonic() - began, count * versions
    print(
        f"seeded {count} DIDs x {versions} versions through did:ids, ledger.append and index.record in {seconds:.0f} s "
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
        return f"the database {size / entries:.0f} octets a version"
    sizes = {
        name: sum(file.stat().st_size for file in folder.glob(f"{name}.sqlite*")) for name in ("ledger", "identity")
    }
    return ", ".join(f"{name} {size / entries:.0f} octets a version" for name, size in sizes.items())
