"""Writes ``installation.tar.xz``: an installation with 1,000 DIDs and every kind of record, as the code of now leaves it on SQLite.

python -m tests.unit.store.earlier.make

It is made by the version whose databases a later one has to open (``tests/unit/store/test_earlier.py``), once. Seeded DIDs stand beside
what a running service wrote while ``identity demo`` told its story twice; the kinds of rows that the story does not leave are added by the
repositories. ``counts.json`` says how many rows each table has.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx

from identity_core.bootstrap import SystemClock
from identity_core.domain.dids.did import Did
from identity_core.ports.repositories import Suspicion
from identity_core.store import Store
from tests import servers
from tests.fault import service_process
from tools.bench.seeding import dids_in, fill

HERE = Path(__file__).parent
ARCHIVE, COUNTS = HERE / "installation.tar.xz", HERE / "counts.json"
# The story makes four DIDs each time, and one is made with an Idempotency-Key.
SEEDED = 1000 - 2 * 4 - 1


def use(folder: Path) -> None:
    """A service over the seeded DIDs, and people who use it."""
    command("keys", "create", "--name", "kept", "--admin", "--data-dir", folder)
    running = service_process.start(folder)
    try:
        url, key = running.wire.url, service_process.API_KEY
        for _ in range(2):
            command("demo", "--url", url, IDENTITY_API_KEY=key)
        headers = {"X-API-Key": key, "Idempotency-Key": "earlier-0001"}
        wish = {"method": "ids", "keyType": "Ed25519"}
        httpx.post(f"{url}/api/v1/dids", json=wish, headers=headers, trust_env=False).raise_for_status()
    finally:
        running.process.terminate()
        running.process.wait(60)


def command(*arguments: str | Path, **environment: str) -> None:
    told = servers.run(*arguments, environment=environment)
    if told.returncode != 0:
        raise RuntimeError(told.stderr)


async def add(folder: Path) -> None:
    """A withheld DID and a revoked IBCT."""
    store, now, (did, *_) = Store.open(folder), SystemClock().now(), dids_in(folder)
    await store.quarantine.add([Suspicion(did, "made so on purpose", now)])
    year = timedelta(days=365)
    await store.delegations.revoke_ibct(Did.parse(did), "id", "an-ibct", keep_until=now + year, now=now)
    await store.close()


def rows_of(folder: Path) -> dict[str, int]:
    """The rows of each table."""
    with closing(sqlite3.connect(folder / "identity.sqlite")) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in names}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "data")
        fill(folder, SEEDED, 1)
        use(folder)
        asyncio.run(add(folder))
        rows = rows_of(folder)
        if 0 in rows.values():
            raise RuntimeError(f"a table is empty: {rows}")
        COUNTS.write_text(json.dumps(rows, indent=2) + "\n")
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for file in sorted(folder.iterdir()):
                if file.suffix in (".sqlite", ".key"):
                    archive.add(file, file.name)
        with closing(sqlite3.connect(folder / "identity.sqlite")) as database:
            print(database.execute("SELECT count(DISTINCT did) FROM did_versions").fetchone(), ARCHIVE.stat().st_size)


if __name__ == "__main__":
    main()
