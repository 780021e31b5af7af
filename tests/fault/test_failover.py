"""The leader of two PostgreSQL servers is killed under load: with a synchronous standby, no acknowledged write is lost.

Two replicas of the service on one database. What Patroni does in production (plugins/ledger_sql/patroni) is done here by hand: the
standby is promoted, and no longer waits for a standby of its own. The service finds the new leader by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.fault import service_process
from tests.fault.creators import Acknowledged, check_all_are_there, creating, takes_writes
from tests.fault.service_process import eventually
from tests.postgres_server import PostgresServer, programs

WRITERS = 4
RECOVERY_SECONDS = 60.0


def setting(server: PostgresServer, standby: str) -> None:
    """Names the synchronous standby of ``server``, or none."""
    import psycopg

    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")  # type: ignore[call-overload]
        connection.execute("SELECT pg_reload_conf()")
        until = time.monotonic() + RECOVERY_SECONDS
        wanted = "sync" if standby else None
        while connection.execute("SELECT max(sync_state) FROM pg_stat_replication").fetchone() != (wanted,):
            assert time.monotonic() < until, f"the standby is never {wanted}"
            time.sleep(0.05)


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
    environment = {
        "IDENTITY_DATABASE_URL": url,
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas",
    } | servers.CHEAP_PASSPHRASE
    acknowledged = Acknowledged()
    with contextlib.ExitStack() as stack:
        replicas = [
            stack.enter_context(service_process.service(tmp_path / name, environment=environment))
            for name in ("a", "b")
        ]
        with creating(replicas, acknowledged, each=WRITERS):
            acknowledged.more(50, RECOVERY_SECONDS)
            before = len(acknowledged.hashes)
            leader.kill()
            died = time.monotonic()
            standby.promote()
            setting(standby, "")
            gap = time.monotonic() - died
            after = len(acknowledged.hashes)
            gap += acknowledged.more(10, RECOVERY_SECONDS)
            acknowledged.more(100, RECOVERY_SECONDS)
        assert before >= 50
        assert len(acknowledged.hashes) >= after + 10, acknowledged.refused
        for replica in replicas:
            # What was acknowledged may have come from the other.
            eventually(lambda: takes_writes(replica), f"{replica.wire.url} takes writes")  # noqa: B023
        check_all_are_there(replicas, acknowledged)
    with capsys.disabled():
        print(
            f"\nfailover: {len(acknowledged.hashes)} acknowledged ({before} before), 0 lost; writes again after {gap:.1f} s; "
            f"refused meanwhile {acknowledged.refused}, answers lost {acknowledged.lost_answers}"
        )
