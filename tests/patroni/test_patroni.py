"""The cluster of ``plugins/ledger_sql/patroni`` for real: its machines die under load, and Patroni does what is promised of it.

The same ``patroni.yml``, three servers and one etcd on loopback, two replicas of the service. ``tox -e patroni`` runs it, where
what is missing is a failure; no other environment collects it. What it does not have: separate machines, a network that breaks.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault import service_process
from tests.fault.creators import Acknowledged, check_all_are_there, creating
from tests.fault.service_process import ROOT, Running, eventually
from tests.patroni.cluster import SECONDS, Cluster, cluster, missing

WRITERS = 4
# More than the answers that may be under way when a server dies.
FRESH = 3 * WRITERS
# Of patroni.yml: how long a leader leads without etcd if it leads by its lease alone.
LEASE_SECONDS = 20.0


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Cluster]:
    """Three servers: when one has died, the new leader still has a standby."""
    reason = missing()
    if reason is not None:
        if os.environ.get("IDENTITY_PATRONI") == "required":
            pytest.fail(reason)
        pytest.skip(f"{reason}; tox -e patroni")
    with cluster(tmp_path, 3) as made:
        yield made


@pytest.fixture
def replicas(servers: Cluster, tmp_path: Path) -> Iterator[list[Running]]:
    """Two replicas of the service on the one database."""
    environment = {"IDENTITY_DATABASE_URL": servers.url, "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas"}
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(service_process.service(tmp_path / name, environment=environment))
            for name in ("a", "b")
        ]


@pytest.fixture
def acknowledged(replicas: list[Running]) -> Iterator[Acknowledged]:
    """What clients of both replicas are told, from before the test to its end; then all of it has to be there."""
    told = Acknowledged()
    with creating(replicas, told, each=WRITERS):
        assert told.more(50, SECONDS) < SECONDS, told.refused
        yield told
    check_all_are_there(replicas, told)


def writes_go_on(acknowledged: Acknowledged) -> float:
    """The seconds until writes are acknowledged again. Raises ``AssertionError`` when they are not."""
    seconds = acknowledged.more(FRESH, SECONDS)
    assert seconds < SECONDS, acknowledged.refused
    return seconds


def doctor(database_url: str, tmp_path: Path) -> list[tuple[str, str]]:
    """What ``identity doctor`` finds about the database: state and text."""
    line = [sys.executable, "-m", "identity_core", "doctor", "--json", "--data-dir", str(tmp_path / "a")]
    # Whatever begins so and is not a setting of the service ends the command.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    environment |= {"PYTHONPATH": str(ROOT), "IDENTITY_DATABASE_URL": database_url}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout, done.stderr
    findings = json.loads(done.stdout)["findings"]
    return [(one["state"], one["says"]) for one in findings if one["check"] == "database"]


def say(capsys: pytest.CaptureFixture[str], what: str, told: Acknowledged) -> None:
    with capsys.disabled():
        print(f"\n{what}; {len(told.hashes)} acknowledged, refused {told.refused}, answers lost {told.lost_answers}")


def test_the_leader_dies_and_comes_back_as_a_standby(
    servers: Cluster, acknowledged: Acknowledged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ((state, says),) = doctor(servers.url, tmp_path)
    assert state == "ok", says
    leader = servers.server("leader")

    leader.program.kill()
    died = time.monotonic()
    eventually(lambda: servers.led_by_another_than(leader), "promotion", SECONDS)
    promoted = time.monotonic() - died
    writes_go_on(acknowledged)
    gap = time.monotonic() - died

    leader.program.start()
    came_back = time.monotonic()
    eventually(servers.complete, f"{leader.name} is a standby again", SECONDS)
    assert servers.server("leader").name != leader.name
    rejoined = time.monotonic() - came_back
    writes_go_on(acknowledged)
    ((state, says),) = doctor(servers.url, tmp_path)
    assert state == "ok", says
    say(
        capsys,
        f"leader died: promoted {promoted:.1f} s, writes {gap:.1f} s, a standby again {rejoined:.1f} s",
        acknowledged,
    )


def test_a_leader_without_standbys_acknowledges_nothing(
    servers: Cluster, acknowledged: Acknowledged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leader = servers.server("leader")
    standbys = [server for server in servers.servers if server is not leader]
    for standby in standbys:
        standby.program.kill()
    # What was on its way has been answered after this, one way or the other.
    time.sleep(10)
    before = len(acknowledged.hashes)
    refused = sum(acknowledged.refused.values())
    ((state, says),) = doctor(servers.url, tmp_path)
    assert state == "warn"
    assert "no synchronous standby is connected" in says
    eventually(lambda: sum(acknowledged.refused.values()) > refused, "a refusal", SECONDS)
    # Longer than Patroni needs to see that the standbys are gone: it must not lead on alone.
    acknowledged.more(1, LEASE_SECONDS + 10)
    assert len(acknowledged.hashes) == before

    for standby in standbys:
        standby.program.start()
    seconds = writes_go_on(acknowledged)
    eventually(servers.complete, "the standbys are back", SECONDS)
    assert servers.server("leader").name == leader.name
    ((state, says),) = doctor(servers.url, tmp_path)
    assert state == "ok", says
    say(capsys, f"standbys gone: 0 acknowledged; writes {seconds:.1f} s after they were started", acknowledged)


def test_leader_without_standby_acknowledges_nothing(
    servers: Cluster, acknowledged: Acknowledged, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two servers take writes for a while. The one that was left behind has no standby that would confirm them."""
    leader = servers.server("leader")
    leader.program.kill_alone()
    died = time.monotonic()
    eventually(lambda: servers.led_by_another_than(leader), "promotion", SECONDS)
    promoted = time.monotonic() - died
    # The standbys follow the old leader until they have heard of the new one.
    time.sleep(3)
    before = len(acknowledged.hashes)
    time.sleep(LEASE_SECONDS)
    meanwhile = len(acknowledged.hashes) - before

    leader.program.start()
    came_back = time.monotonic()
    writes_go_on(acknowledged)
    gap = time.monotonic() - came_back
    eventually(servers.complete, f"{leader.name} is a standby again", SECONDS)
    assert servers.server("leader").name != leader.name
    what = f"Patroni died: promoted {promoted:.1f} s, {meanwhile} acknowledged in the next {LEASE_SECONDS:.0f} s"
    say(capsys, f"{what}, writes {gap:.1f} s after Patroni was started", acknowledged)


def test_writes_go_on_without_etcd(
    servers: Cluster, acknowledged: Acknowledged, capsys: pytest.CaptureFixture[str]
) -> None:
    leader = servers.server("leader")
    servers.etcd.kill()
    until, slowest = time.monotonic() + 2 * LEASE_SECONDS, 0.0
    while time.monotonic() < until:
        slowest = max(slowest, writes_go_on(acknowledged))
    servers.etcd.start()
    eventually(servers.complete, "the cluster is whole", SECONDS)
    assert servers.server("leader").name == leader.name
    say(capsys, f"{2 * LEASE_SECONDS:.0f} s without etcd: {FRESH} writes took {slowest:.1f} s at most", acknowledged)
