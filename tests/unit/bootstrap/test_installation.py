"""What opening a house leaves as it was."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from identity_core.bootstrap import open_installation
from identity_core.bootstrap.installation import OBJECTS_BETWEEN_COLLECTIONS
from identity_core.database import sqlite, sqlite_connection
from identity_core.ports.activity import IdempotencyRecord
from identity_core.settings import StartError, load
from identity_core.store import Store
from tests.postgres_server import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


def test_garbage_is_collected_as_before_once_the_house_stands(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(partial(gc.set_threshold, *gc.get_threshold()))
    before = OBJECTS_BETWEEN_COLLECTIONS - 1, 10, 10
    gc.set_threshold(*before)

    async def look() -> tuple[int, int, int]:
        async with open_installation(load(environment={}, overrides={"data_dir": tmp_path})):
            return gc.get_threshold()

    assert asyncio.run(look()) == before


def test_startup_collects_no_garbage(tmp_path: Path) -> None:
    program = """
import asyncio, gc, sys
seen = []
gc.callbacks.append(lambda phase, about: seen.append(about["generation"]))
import identity_core.cli
seen.clear()
import identity_core.cli.serving
from identity_core.bootstrap import collect_seldom, open_installation
from identity_core.settings import load

async def look():
    async with open_installation(load(environment={}, overrides={"data_dir": sys.argv[1]})):
        print(seen)
        collect_seldom()
        print(gc.get_freeze_count() > 100_000, gc.get_count()[0] < 1000, gc.get_threshold()[0])

asyncio.run(look())
"""
    said = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[]", f"True True {OBJECTS_BETWEEN_COLLECTIONS}"]


@pytest.mark.parametrize("text", ["did:ids", "https://id.example", "did:ids:short"])
def test_a_did_to_try_that_is_none_stops_the_start(tmp_path: Path, text: str) -> None:
    async def start() -> None:
        overrides = {"data_dir": tmp_path, "server.test_identifiers": [text]}
        async with open_installation(load(environment={}, overrides=overrides)):
            pass

    with pytest.raises(StartError, match=r"server\.test_identifiers"):
        asyncio.run(start())


def test_connections_map_at_most_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped: list[tuple[str, int]] = []

    def counted(
        opened: Callable[..., sqlite_connection.Connection], path: Path, **how: Any
    ) -> sqlite_connection.Connection:
        connection = opened(path, **how)
        mapped.append((path.name, connection.execute("PRAGMA mmap_size").fetchone()[0]))
        return connection

    for name in ("open_writer", "open_reader"):
        monkeypatch.setattr(sqlite, name, partial(counted, getattr(sqlite, name)))

    async def look() -> None:
        async with open_installation(load(environment={}, overrides={"data_dir": tmp_path, "mapped_mebibytes": 7})):
            pass

    asyncio.run(look())
    files = ("custodian", "identity", "keys", "ledger")
    assert set(mapped) == {(f"{name}.sqlite", 7 * 2**20) for name in files}
    assert len(mapped) == 2 * len(files)


def test_every_server_database_has_the_readers_of_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    """The store, the keys of the custodian and the API keys."""
    readers: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, most: int, **how: Any) -> None:
            readers.append(most)
            super().__init__(most, **how)

    monkeypatch.setattr("identity_postgresql.database.ThreadPoolExecutor", Counted)

    async def look() -> None:
        overrides = {"data_dir": tmp_path, "database_url": postgres_url, "database_readers": 7}
        async with open_installation(load(environment={}, overrides=overrides)):
            pass

    asyncio.run(look())
    assert readers == [7, 7, 7]


@pytest.mark.parametrize("is_served", [False, True])
def test_reservation_of_a_dead_process_ends_at_startup(tmp_path: Path, *, is_served: bool) -> None:
    """A killed process leaves its requests reserved for a minute. Files that no process serves have no running request."""
    settings = load(environment={}, overrides={"data_dir": tmp_path})

    async def start_again() -> IdempotencyRecord | None:
        async with AsyncExitStack() as stack:
            async with open_installation(settings):
                store = Store.open(tmp_path)
                stack.push_async_callback(store.close)
                now = datetime.now(UTC)
                assert await store.idempotency.begin("key", "request", now) is None
                if is_served:
                    await stack.enter_async_context(open_installation(settings))
            await stack.enter_async_context(open_installation(settings))
            return await store.idempotency.begin("key", "request", now + timedelta(seconds=1))

    found = asyncio.run(start_again())
    assert (found is not None) == is_served
