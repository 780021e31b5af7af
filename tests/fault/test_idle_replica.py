"""A replica without requests on PostgreSQL: how seldom it calls the server, and how soon it follows another replica all the same."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from identity_transparency.use_cases.watch import QUIET_SECONDS

from tests import servers
from tests.fault import service_process
from tests.fault.service_process import Running, eventually
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

SETTLE_SECONDS = 2.0
SECONDS = 8.0
MOST_A_SECOND = 2.0
# A line of the server's log: process and statement.
STATEMENT = re.compile(r"^\S+ \S+ \S+ \[(\d+)\] LOG: +(?:statement|execute [^:]*): (.*)", re.MULTILINE)
LOG_SIZE = re.compile(rb"^identity_ledger_size (\d+)", re.MULTILINE)


@pytest.fixture
def environment(postgres_server: PostgresServer, tmp_path: Path) -> dict[str, str]:
    """Yield the database of the replicas, in which the server logs each statement, and a policy whose log is fed to witnesses."""
    (tmp_path / "policy").write_text("quorum none\n")
    url = postgres_server.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        name = url.rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")  # type: ignore[call-overload]
    return {
        "IDENTITY_DATABASE_URL": url,
        "IDENTITY_LEDGER_WITNESSES": str(tmp_path / "policy"),
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas",
        **servers.CHEAP_PASSPHRASE,
    }


@pytest.fixture
def replica(environment: dict[str, str], tmp_path: Path) -> Iterator[Running]:
    with service_process.service(tmp_path / "a", environment=environment) as running:
        yield running


def transactions(log: str) -> list[str]:
    """The first statement of each transaction."""
    found, is_open = list[str](), set[str]()
    for process, statement in STATEMENT.findall(log):
        if process not in is_open:
            found.append(statement)
        if statement.startswith("BEGIN"):
            is_open.add(process)
        elif statement in ("COMMIT", "ROLLBACK"):
            is_open.discard(process)
    return found


def test_an_idle_replica_makes_two_transactions_a_second(replica: Running, postgres_server: PostgresServer) -> None:
    """There were 28 of them."""
    time.sleep(SETTLE_SECONDS)
    with closing((postgres_server.folder / "log").open()) as log:
        log.seek(0, 2)
        time.sleep(SECONDS)
        found = transactions(log.read())
    assert replica.wire.call("GET", "/ready").status == 200
    # Less than that would mean that nothing watches the databases.
    assert SECONDS / QUIET_SECONDS - 1 <= len(found) <= MOST_A_SECOND * SECONDS, "\n".join(found)


def test_an_idle_replica_follows_another(replica: Running, environment: dict[str, str], tmp_path: Path) -> None:
    """Its own view of the log's size, which only its watch brings up, is that of the writer within seconds."""
    with service_process.service(tmp_path / "b", environment=environment) as other:
        time.sleep(SETTLE_SECONDS)
        before = log_size(replica)
        other.stranger.holder()
        begun = time.monotonic()
        eventually(lambda: log_size(replica) > before, "the idle replica has seen the write", 2 * QUIET_SECONDS + 1)
        assert time.monotonic() - begun < 2 * QUIET_SECONDS


def log_size(replica: Running) -> int:
    """Entries of the log, as the replica's metrics have them."""
    answer = replica.wire.call("GET", "/metrics", headers={"X-API-Key": replica.stranger.api_key})
    found = LOG_SIZE.search(answer.body)
    assert found is not None, answer.body[:2000]
    return int(found[1])
