"""The leader of two PostgreSQL servers is killed under load: with a synchronous standby, no acknowledged write is lost.

Two replicas of the service on one database. What Patroni does in production (plugins/ledger_sql/patroni) is done here by hand: the
standby is promoted, and no longer waits for a standby of its own. The service finds the new leader by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.attack.stranger import PREFIX
from tests.fault import service_process
from tests.fault.service_process import Running
from tests.postgres_server import PostgresServer, programs

WRITERS = 4
SECONDS_OF_LOAD = 1.5
RECOVERY_SECONDS = 60.0


@dataclass
class Acknowledged:
    """The transaction hashes of the DIDs whose creation was answered with 201, and how often it was answered otherwise."""

    hashes: dict[str, str] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    lost_answers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def create_until(stop: threading.Event, running: Running, acknowledged: Acknowledged) -> None:
    """A client that goes on whatever it is answered."""
    while not stop.is_set():
        try:
            answer = running.stranger.create({"method": "ids"})
        except OSError:
            with acknowledged.lock:
                acknowledged.lost_answers += 1
            continue
        with acknowledged.lock:
            if answer.status == 201:
                acknowledged.hashes[answer.json["did"]] = answer.json["transactionHash"]
                continue
            acknowledged.refused[answer.status] = acknowledged.refused.get(answer.status, 0) + 1
        assert answer.json["error"]["code"] in {
            "BLOCKCHAIN_ERROR",
            "OVERLOADED",
            "PLUGIN_UNAVAILABLE",
            "PLUGIN_TIMEOUT",
        }
        time.sleep(0.05)
    running.wire.close()


def setting(server: PostgresServer, standby: str) -> None:
    """Names the synchronous standby of ``server``, or none."""
    import psycopg

    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")  # type: ignore[call-overload]
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A leader and its synchronous standby."""
    if programs() is None:
        reason = "PostgreSQL's programs are not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folders = [Path(tempfile.mkdtemp(prefix="pg")) for _ in range(2)]
    with contextlib.ExitStack() as stack:
        for folder in folders:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        leader = PostgresServer.create(folders[0], fsync=True)
        stack.callback(leader.kill)
        standby = leader.standby(folders[1])
        stack.callback(standby.kill)
        setting(leader, "standby")
        yield leader, standby


def test_the_leader_dies_and_no_acknowledged_write_is_lost(
    pair: tuple[PostgresServer, PostgresServer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, standby = pair
    leader.new_database()
    url = (
        f"postgresql://identity@127.0.0.1:{leader.port},127.0.0.1:{standby.port}/test_1?target_session_attrs=read-write"
    )
    environment = {"IDENTITY_DATABASE_URL": url, "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas"}
    acknowledged, stop = Acknowledged(), threading.Event()
    with contextlib.ExitStack() as stack:
        replicas = [
            stack.enter_context(service_process.service(tmp_path / name, environment=environment))
            for name in ("a", "b")
        ]
        threads = [
            threading.Thread(target=create_until, args=(stop, replica, acknowledged))
            for replica in replicas
            for _ in range(WRITERS)
        ]
        for thread in threads:
            thread.start()
        try:
            time.sleep(SECONDS_OF_LOAD)
            before = len(acknowledged.hashes)
            leader.kill()
            died = time.monotonic()
            standby.promote()
            setting(standby, "")
            after = len(acknowledged.hashes)
            while len(acknowledged.hashes) < after + 10 and time.monotonic() < died + RECOVERY_SECONDS:
                time.sleep(0.02)
            gap = time.monotonic() - died
            time.sleep(SECONDS_OF_LOAD)
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
        assert before > 0
        assert len(acknowledged.hashes) >= after + 10
        for replica in replicas:
            for did, transaction_hash in acknowledged.hashes.items():
                page = replica.wire.call("GET", f"{PREFIX}/dids/{did}/history")
                assert page.status == 200, (did, page.body)
                assert [item["transactionHash"] for item in page.json["items"]] == [transaction_hash]
        sequences = [item["sequence"] for item in all_events(replicas[0])]
    assert sequences == list(range(1, len(sequences) + 1))
    with capsys.disabled():
        print(
            f"\nfailover: {len(acknowledged.hashes)} acknowledged ({before} before), 0 lost; writes again after {gap:.1f} s; "
            f"refused meanwhile {acknowledged.refused}, answers lost {acknowledged.lost_answers}"
        )


def all_events(running: Running) -> list[dict[str, int]]:
    """The public feed, whole."""
    events: list[dict[str, int]] = []
    while True:
        page = running.wire.call("GET", f"{PREFIX}/events?after={len(events)}&limit=200").json["items"]
        if not page:
            return events
        events += page
