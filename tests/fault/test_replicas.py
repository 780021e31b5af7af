"""Two replicas of the service on one PostgreSQL: mixed writers, a server that stops and comes back, no fork and no gap."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from identity_commands.verify_log import verify
from identity_postgresql.look_ups import PATIENCE_SECONDS

from identity_codec.values import replace
from tests import servers
from tests.attack.stranger import Answer, Holder, at_once, body_hash, did_path, header, rotation, service
from tests.fault import service_process
from tests.fault.creators import Acknowledged, all_events, check_all_are_there, creating, takes_writes
from tests.fault.service_process import Running, eventually, kept_port
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

WRITERS = 4
# Together below the 20 services that a DID may have.
WRITERS_OF_ONE = 3
CHANGES = 6
SECONDS_OF_LOAD = 1.0
RECOVERY_SECONDS = 60.0


@pytest.fixture(scope="module")
def environment(postgres_server: PostgresServer) -> dict[str, str]:
    """What the replicas of one installation have in common."""
    return {
        "IDENTITY_DATABASE_URL": postgres_server.new_database(),
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas",
        **servers.CHEAP_PASSPHRASE,
        "IDENTITY_SERVER_PUBLIC_URL": "https://id.example",
    }


@pytest.fixture(scope="module")
def replicas(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Running]]:
    folder = tmp_path_factory.mktemp("replicas")
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                service_process.service(
                    folder / name, "--port", f"{stack.enter_context(kept_port())}", environment=environment
                )
            )
            for name in ("a", "b")
        ]


def at_replica(replica: Running, hana: Holder) -> Holder:
    """The same holder, at another replica."""
    return replace(hana, wire=replica.wire)


def versions(replica: Running, did: str) -> int:
    """How many versions a DID has at a replica, its log verified there."""
    log = replica.wire.call("GET", did_path(did) + "/log")
    assert log.status == 200, log.body
    verified = verify(log.body, now=datetime.now(UTC))
    assert verified.did == did
    return verified.versions


def test_mixed_writers_leave_no_fork_and_no_gap(replicas: list[Running]) -> None:
    """Own DIDs and one that all change at once, at both replicas in turn; a key is rotated in the middle."""
    shared = replicas[0].stranger.holder()
    changed: dict[str, int] = {}

    def write(name: int) -> int:
        own, through = replicas[name % 2].stranger.holder(), 0
        for turn in range(CHANGES):
            replica = replicas[(name + turn) % 2]
            act, body = ("rotate", rotation(own.key_id)) if turn == CHANGES - 1 else ("update", service(f"s{turn}"))
            answer = at_replica(replica, own).act(act, body)
            assert answer.status == 200, answer.body
            changed[own.did] = answer.json.get("versionId", CHANGES + 1)
            answer = at_replica(replica, shared).act("update", service(f"s{name}-{turn}"))
            assert answer.status in (200, 503), answer.body
            through += answer.status == 200
        return through

    through = at_once(replicas[0].wire, [partial(write, name) for name in range(WRITERS_OF_ONE)])
    assert all(isinstance(count, int) for count in through), through
    for replica in replicas:
        assert {did: versions(replica, did) for did in changed} == changed
        assert versions(replica, shared.did) == 1 + sum(through)
    feeds = [all_events(replica) for replica in replicas]
    assert feeds[0] == feeds[1]
    assert [item["sequence"] for item in feeds[0]] == list(range(1, len(feeds[0]) + 1))


def test_a_challenge_of_one_replica_is_spent_at_all(replicas: list[Running]) -> None:
    """Anyone who gets it at one may use it at the other, and once: also when both get it at the same moment."""
    here, there = replicas
    hana = here.stranger.holder()
    for turn in range(5):
        assert sorted(_spend(hana, service(f"s{turn}"), (there, here, there, here))) == [200, 401, 401, 401]
    assert versions(there, hana.did) == 6


def _spend(hana: Holder, body: dict[str, Any], where: Sequence[Running]) -> list[int]:
    """One authorization, sent to all of them at once."""
    authorization = header(hana.did, hana.key.sign(hana.challenge("update", body_hash(body)).encode()).signature)
    calls = [partial(at_replica(replica, hana).send, "update", body, authorization) for replica in where]
    answers: list[Answer] = at_once(hana.wire, calls)
    return [answer.status for answer in answers]


def test_a_replica_that_is_restarted_under_load_loses_nothing(
    replicas: list[Running], environment: dict[str, str], tmp_path: Path
) -> None:
    """A third is started, asked to end in the midst of the load, and started again, as in an upgrade: the others never refuse, and nothing
    that any of them acknowledged is gone."""
    others, rolled = Acknowledged(), Acknowledged()
    with kept_port() as port, contextlib.ExitStack() as stack:
        words = (tmp_path / "rolled", "--port", f"{port}")
        third = stack.enter_context(service_process.service(*words, environment=environment))
        with creating(replicas, others, each=1), creating([third], rolled, each=2):
            assert rolled.more(5, RECOVERY_SECONDS) < RECOVERY_SECONDS
            third.process.terminate()
            third.process.wait(60)
            third = stack.enter_context(service_process.service(*words, environment=environment))
            assert rolled.more(5, RECOVERY_SECONDS) < RECOVERY_SECONDS
        assert (others.refused, others.lost_answers) == ({}, 0)
        assert rolled.lost_answers > 0, "its callers met the time between"
        assert set(rolled.refused) <= {503}
        for acknowledged in (others, rolled):
            check_all_are_there([*replicas, third], acknowledged)


def test_frozen_database_process_costs_its_waiters(replicas: list[Running], environment: dict[str, str]) -> None:
    """It was asked last, and is the one that all look-ups of a replica wait for."""
    here, there = replicas
    hana = here.stranger.holder()
    look_ups = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'identity'"
        " AND query ~ '^SELECT.*(did_versions|ledger_entries)' ORDER BY query_start DESC LIMIT 1"
    )
    assert here.wire.call("GET", did_path(hana.did)).status == 200
    with psycopg.connect(environment["IDENTITY_DATABASE_URL"]) as server:
        ((pid,),) = server.execute(look_ups).fetchall()
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        paths = [did_path(hana.did), did_path(hana.did) + "/history", f"/1.0/identifiers/{hana.did}"] * 4
        answers = at_once(here.wire, [partial(here.wire.call, "GET", path) for path in paths])
        assert PATIENCE_SECONDS - 1.5 < time.monotonic() - begun < 4 * PATIENCE_SECONDS
        for answer in answers:
            assert (answer.status, answer.json["error"]["code"]) == (503, "PLUGIN_UNAVAILABLE")
            assert answer.headers["retry-after"] == "1"
        for replica in (there, here):
            assert replica.wire.call("GET", did_path(hana.did)).status == 200
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "power_cut"])
def test_a_database_that_stops_and_comes_back_under_load(
    replicas: list[Running], postgres_server: PostgresServer, how: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused meanwhile in the words of the document; then both replicas write again, and nothing acknowledged is lost."""
    acknowledged = Acknowledged()
    with creating(replicas, acknowledged, each=WRITERS):
        assert acknowledged.more(10, RECOVERY_SECONDS) < RECOVERY_SECONDS
        before = len(acknowledged.hashes)
        postgres_server.stop(how)
        try:
            time.sleep(SECONDS_OF_LOAD)
            eventually(lambda: acknowledged.refused, "a client was told that the database is away")
        finally:
            postgres_server.start()
        gap = acknowledged.more(10, RECOVERY_SECONDS)
        time.sleep(SECONDS_OF_LOAD)
    assert gap < RECOVERY_SECONDS
    for replica in replicas:
        # Each has to find the database again by itself: what was acknowledged may have come from the other.
        eventually(lambda: takes_writes(replica), f"{replica.wire.url} takes writes")  # noqa: B023
        hana = replica.stranger.holder()
        assert hana.act("update", service()).status == 200
    check_all_are_there(replicas, acknowledged)
    with capsys.disabled():
        print(
            f"\ndatabase away: {len(acknowledged.hashes)} acknowledged ({before} before), 0 lost; writes again {gap:.1f} s"
            f" after its start; refused meanwhile {acknowledged.refused}, answers lost {acknowledged.lost_answers}"
        )
