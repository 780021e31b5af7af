"""Who asks for much and reads nothing of it: the log of a DID that has one of nine megabytes.

On SQLite and on PostgreSQL.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer, local_server

from tests.attack.connections import Address, address_of, connected, resident_octets, until
from tests.attack.raw_http import exchange, request
from tests.attack.stranger import GENEROUS
from tests.long_log import PATH, write_long_log
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

READERS = 40
KIBIBYTE = 1024


@dataclass(frozen=True)
class Target:
    """A service whose ledger holds the long log, and the log."""

    server: LocalServer
    database_url: str | None
    log: bytes


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    arguments: tuple[str, ...] = ()
    url = None
    if request.param == "postgresql":
        found: PostgresServer = request.getfixturevalue("postgres_server")
        url = found.new_database()
        arguments = ("--database-url", url)
    few = {"IDENTITY_SERVER_MAX_REQUESTS_IN_FLIGHT": "8"}
    # Started and not forked: a fork copies pages that it shares when it first touches them, and that would count as a reader's.
    with local_server(*arguments, environment={**GENEROUS, **few}) as server:
        yield Target(server, url, asyncio.run(write_long_log(server.data_dir, url)))


def begun(target: Target, source: str, stack: contextlib.ExitStack, path: str) -> bool:
    """Whether one more reads slowly. While the answers before fill their buffers they are work, of which there is a bound."""
    connection = stack.enter_context(connected(address_of(target.server.url), source, received=4096))
    connection.sendall(request("GET", path))
    if connection.recv(1024).startswith(b"HTTP/1.1 200 "):
        return True
    connection.close()
    return False


@contextlib.contextmanager
def readers(target: Target, path: str = PATH) -> Iterator[None]:
    """So many who have asked for the log, or what else ``path`` names, and taken its first bytes; from four addresses."""
    with contextlib.ExitStack() as stack:
        for number in range(READERS):
            until(60, "a reader is not served", lambda: begun(target, f"127.0.0.{number % 4 + 1}", stack, path))  # noqa: B023
        time.sleep(1)
        yield


def settled_octets(address: Address, process: int) -> int:
    """Resident memory when it has stayed the same for three seconds in which the service was awake: it takes in the long log, which was
    written behind it."""
    for _ in range(30):
        before = resident_octets(process)
        for _ in range(10):
            time.sleep(0.3)
            exchange(address, request("GET", "/health"))
        if abs(resident_octets(process) - before) <= 64 * KIBIBYTE:
            return before
    raise AssertionError("the memory of the service does not come to rest")


def test_the_whole_log_comes_and_head_tells_its_length(target: Target) -> None:
    answer = exchange(address_of(target.server.url), request("GET", PATH))
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/jsonl"
    assert int(answer.headers["content-length"]) == len(target.log)
    assert hashlib.sha256(answer.body).digest() == hashlib.sha256(target.log).digest()
    head = exchange(address_of(target.server.url), request("HEAD", PATH), head=True)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == answer.headers["content-length"]


@pytest.mark.parametrize(
    "path", [PATH, "/openapi.json", "/docs/swagger-ui-bundle.js"], ids=["log", "document", "static file"]
)
def test_a_slow_reader_costs_256_kibibytes_at_most(target: Target, path: str) -> None:
    address = address_of(target.server.url)
    exchange(address, request("GET", path))
    before = settled_octets(address, target.server.process)
    with readers(target, path):
        assert resident_octets(target.server.process) - before <= READERS * 256 * KIBIBYTE


def test_slow_readers_are_no_load(target: Target) -> None:
    """Eight requests may be worked on at once; forty that wait for their readers are none of them."""
    with readers(target):
        assert exchange(address_of(target.server.url), request("GET", "/api/v1/ledger/checkpoint")).status == 200
        answer = exchange(address_of(target.server.url), request("GET", PATH))
        assert answer.body == target.log


def test_slow_readers_hold_no_transaction(target: Target) -> None:
    """One that stays open keeps the write-ahead log of SQLite from being emptied, and PostgreSQL from cleaning up. The service's own
    work opens one for a moment."""
    url, file = target.database_url, target.server.data_dir / "ledger.sqlite"
    with readers(target):
        # Sooner than the service gives a slow reader up.
        until(5, "no transaction is open", lambda: checkpointed(file) if url is None else open_transactions(url) == [])


def checkpointed(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
        busy, logged, moved = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return busy == 0 and logged == moved


def open_transactions(url: str) -> list[Any]:
    import psycopg

    with psycopg.connect(url) as connection:
        query = (
            "SELECT pid, state, query FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()"
        )
        return connection.execute(query + " AND datname = current_database()").fetchall()
