"""A disk that fills up under a running service: refused with 503 and a time to wait, seen in readiness, and over when there is room."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from identity_records.audit import audit_of

from identity_core.database import DatabaseUnavailable
from identity_core.store import Store
from tests.attack.stranger import PREFIX, Answer
from tests.events import open_store
from tests.fault.service_process import Running, eventually, service
from tests.fault.test_storage_disk import small_disk as mounted

__all__ = ["mounted"]

KIB = 1024
BODY = {"method": "ids", "options": {"recoveryKey": True}}


@pytest.fixture
def full(mounted: Path) -> Path:
    """A file system of 16 MiB for the service, and the place of a file that fills it."""
    subprocess.run(["mount", "-o", "remount,size=16m", str(mounted)], check=True)
    return mounted / "filler"


def fill(filler: Path) -> None:
    with filler.open("ab", buffering=0) as file:
        for size in (256 * KIB, 4 * KIB, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def create(running: Running, key: str | None) -> Answer:
    headers = {"X-API-Key": running.stranger.api_key} | ({} if key is None else {"Idempotency-Key": key})
    return running.wire.call("POST", f"{PREFIX}/dids", BODY, headers)


def recorded(folder: Path) -> tuple[int, int]:
    """How many entries the ledger has, and how many versions the index."""
    counts = []
    for name, table in (("ledger", "ledger_entries"), ("identity", "did_versions")):
        with closing(sqlite3.connect(f"file:{folder / name}.sqlite?mode=ro", uri=True)) as database:
            counts.append(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    return counts[0], counts[1]


def test_full_disk_answers_503_and_heals_without_restart(full: Path) -> None:
    """docs/how-to/alerts.md: on a full disk writes are 503 and nothing is lost. RFC 9110 §15.6.4, §10.2.3: with a time to wait."""
    folder = full.parent / "data"
    with service(folder) as running:
        assert create(running, "before").status == 201
        fill(full)
        answers: dict[str, Answer] = {}
        for number in range(400):
            answers[f"k{number}"] = answer = create(running, f"k{number}")
            if answer.status != 201 and sum(one.status != 201 for one in answers.values()) > 20:
                break
        refused = {key: one for key, one in answers.items() if one.status != 201}
        assert refused, "the disk was not full"
        assert {one.outcome for one in refused.values()} == {(503, "PLUGIN_UNAVAILABLE")}
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused.values())
        # Without a key the ledger is the first that is written to.
        plain: list[Answer] = []
        while sum(one.status != 201 for one in plain) < 3 and len(plain) < 1_500:
            plain.append(create(running, None))
        assert {one.outcome for one in plain} - {(201, None)} == {(503, "PLUGIN_UNAVAILABLE")}
        assert running.wire.call("GET", "/ready").status == 503
        full.unlink()
        eventually(lambda: running.wire.call("GET", "/ready").status == 200, "the service is ready when there is room")
        # Also what no client requests again.
        eventually(lambda: len(set(recorded(folder))) == 1, "the index follows the ledger")
        first = {key: create(running, key) for key in answers}
        assert {one.status for one in first.values()} == {201}
        assert len({one.json["did"] for one in first.values()}) == len(answers)
        for key, one in answers.items():
            if one.status == 201:
                assert one.json == first[key].json
        # One DID for each key, those that were recorded and not indexed among them.
        made = recorded(folder)
        assert made[0] == made[1]
        assert len(answers) + 1 <= made[0] <= len(answers) + 1 + len(plain)


def test_not_ready_while_requests_with_a_key_fail(full: Path) -> None:
    """Such a request fails at its reservation in the store, before the ledger."""
    with service(full.parent / "data") as running:
        assert create(running, "before").status == 201
        # The first probe after a change stores the cursor of the index: the probes on the full disk have nothing to store.
        assert running.wire.call("GET", "/ready").status == 200
        fill(full)
        answers = [(create(running, f"k{n}").status, running.wire.call("GET", "/ready").status) for n in range(10)]
        assert answers == [(503, 503)] * 10
        full.unlink()
        eventually(lambda: running.wire.call("GET", "/ready").status == 200, "the service is ready when there is room")
        assert create(running, "after").status == 201


def test_probe_of_a_full_store_fails_until_there_is_room(full: Path) -> None:
    async def scenario(store: Store) -> None:
        end = audit_of(store)
        try:
            before = await end.settled()
            fill(full)
            for _ in range(3):
                with pytest.raises(DatabaseUnavailable):
                    await end.settled()
            full.unlink()
            assert await end.settled() == before
        finally:
            await store.close()

    asyncio.run(scenario(open_store(full.parent, None)))
