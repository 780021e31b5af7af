"""Two replicas on one PostgreSQL, whose processes are killed, frozen and started again, behave to all clients as one service that does
one thing at a time.

``IDENTITY_ROUNDS`` is how many faults there are; without it there is one of each kind.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from identity_commands.verify_log import verify

from identity_codec.values import replace
from tests import servers
from tests.attack.stranger import PREFIX, Holder, Wire, did_path, rounds
from tests.fault import service_process, tlog_check
from tests.fault.creators import all_events
from tests.fault.histories import Change, Read, problems
from tests.fault.history_clients import Client, History, in_parallel, markers_of, version_of
from tests.fault.service_process import API_KEY, Running, eventually, kept_port
from tests.postgres_server import PostgresServer, programs

CLIENTS = 6
# All clients change them, up to the number of services that a DID may have.
SHARED_DIDS = 2 + rounds(0) // 10
FAULTS = ("kill replica", "freeze replica", "cut database", "freeze database", "kill database", "restart replica")


class Installation:
    """Two replicas and their database; each keeps its port."""

    def __init__(self, folder: Path, server: PostgresServer, ports: list[int]) -> None:
        self.server, self.folder, self.ports = server, folder, ports
        self.url = server.new_database()
        self.replicas = [self.start(place) for place in range(len(ports))]

    def start(self, place: int) -> Running:
        environment = {
            "IDENTITY_DATABASE_URL": self.url,
            "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas",
            **servers.CHEAP_PASSPHRASE,
            "IDENTITY_SERVER_PUBLIC_URL": "https://id.example",
        }
        return service_process.start(
            self.folder / f"replica{place}", "--port", f"{self.ports[place]}", environment=environment
        )

    def fault(self, kind: str, dice: random.Random) -> None:
        """Do one thing to the installation, and undo it."""
        seconds, place = dice.uniform(0.3, 1.5), dice.randrange(len(self.replicas))
        replica = self.replicas[place]
        if kind == "freeze replica":
            os.killpg(replica.process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.killpg(replica.process.pid, signal.SIGCONT)
        elif kind in ("kill replica", "restart replica"):
            if kind == "kill replica":
                replica.kill()
            else:
                replica.process.terminate()
                replica.process.wait(60)
            self.replicas[place] = self.start(place)
        elif kind == "freeze database":
            processes = self.processes_of_database()
            for each in processes:
                os.kill(each, signal.SIGSTOP)
            time.sleep(seconds)
            for each in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGCONT)
        else:
            if kind == "kill database":
                self.server.kill()
            else:
                self.server.stop(signal.SIGQUIT)
            time.sleep(seconds / 2)
            self.server.start()

    def processes_of_database(self) -> list[int]:
        """The server's first process, and those for connections and others that it has begun."""
        first = int((self.server.folder / "data" / "postmaster.pid").read_text().split()[0])
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def end_leases(self) -> None:
        """Let the minute pass in which a killed process holds its Idempotency-Keys."""
        with psycopg.connect(self.url) as connection:
            connection.execute("UPDATE idempotency_keys SET begun_at = begun_at - 61000000 WHERE status IS NULL")


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    if programs() is None and not os.environ.get("CI"):
        pytest.skip("PostgreSQL is missing")
    with contextlib.ExitStack() as stack:
        server = PostgresServer.create(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pg"))))
        stack.callback(lambda: server.stop(signal.SIGQUIT))
        ports = [stack.enter_context(kept_port()) for _ in range(2)]
        made = Installation(tmp_path, server, ports)
        try:
            yield made
        finally:
            for replica in made.replicas:
                if replica.process.poll() is None:
                    replica.kill()


def recorded(wire: Wire, did: str) -> list[frozenset[str]]:
    """Return what each version of a DID added; the log of its entries is verified."""
    log = wire.call("GET", did_path(did) + "/log")
    assert log.status == 200, log.body
    count = verify(log.body, now=datetime.now(UTC)).versions
    versions, before = list[frozenset[str]](), frozenset[str]()
    for version in range(1, count + 1):
        answer = wire.call("GET", f"{did_path(did)}?versionId={version}")
        assert answer.status in (200, 410), answer.body
        # A deactivated document is empty, and adds the marker below.
        if "verificationMethod" in answer.json.get("didDocument", ()):
            markers = markers_of(answer.json["didDocument"])
        versions.append(markers - before)
        before = markers
    head = wire.call("GET", did_path(did))
    assert version_of(head) == count, head.body
    if head.status == 410:
        assert versions[-1] == frozenset(), did
        versions[-1] = frozenset({"deactivated"})
    return versions


def without_keys(read: Read, keys: frozenset[str]) -> Read:
    """Return a read whose markers have "created" instead of the keys that the DID began with."""
    if read.markers is None or not keys <= read.markers:
        return read
    return replace(read, markers=read.markers - keys | {"created"})


def proofs_between(wire: Wire, checkpoints: set[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return a consistency proof for each pair of neighbours, as ``tlog_check`` reads it."""
    sizes = [size for size, _ in checkpoints]
    assert len(sizes) == len(set(sizes)), "two roots of one size"
    proofs = []
    for (first, first_root), (second, second_root) in pairwise(sorted(checkpoints)):
        answer = wire.call("GET", f"{PREFIX}/ledger/proof/consistency?first={first}&second={second}")
        assert answer.status == 200, answer.body
        hashes = [base64.b64encode(base64.urlsafe_b64decode(one + "=")).decode() for one in answer.json["hashes"]]
        roots = {"FirstRoot": first_root, "SecondRoot": second_root}
        proofs.append({"First": first, "Second": second, "Hashes": hashes} | roots)
    return proofs


def run_clients(installation: Installation, history: History) -> list[Client]:
    """Let clients act while faults happen; return them when each change is answered."""
    urls = [replica.wire.url for replica in installation.replicas]
    shared: list[Holder] = []
    for _ in range(SHARED_DIDS):
        began = time.monotonic()
        shared.append(holder := installation.replicas[0].stranger.holder(recoveryKey=False))
        history.created[holder.did] = holder
        history.changes.append(Change(-1, holder.did, "created", began, time.monotonic(), "done", 1))
    clients = [Client(number, urls, API_KEY, history, shared) for number in range(CLIENTS)]
    stop, count = threading.Event(), rounds(len(FAULTS))
    dice = random.Random(count)
    threads = [threading.Thread(target=client.run, args=(stop,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    try:
        for number in range(count):
            time.sleep(dice.uniform(0.2, 0.8))
            installation.fault(FAULTS[number] if number < len(FAULTS) else dice.choice(FAULTS), dice)
    finally:
        stop.set()
        for thread in threads:
            thread.join(180)
    assert not any(thread.is_alive() for thread in threads), "a client never got an answer"
    for replica in installation.replicas:
        eventually(lambda: replica.wire.call("GET", "/ready").status == 200, "the replica is ready")  # noqa: B023
    installation.end_leases()
    aside, history.aside = history.aside, []
    for sent in aside:
        clients[0].change(sent, None)
    assert history.aside == [], "a change is never answered"
    return clients


def test_clients_see_one_service_under_faults(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Linearizable resolution and changes; each acknowledged change once, each Idempotency-Key once, each signature at most once; a log
    that only grew."""
    program, history = tlog_check.build(tmp_path_factory), History()
    clients = run_clients(installation, history)
    for client in clients:
        in_parallel([partial(client.resolve, did) for did in history.created])
        client.checkpoint()
    assert history.strange == []
    here, there = (replica.wire for replica in installation.replicas)
    versions = {did: recorded(here, did) for did in history.created}
    for did, (first, *_) in versions.items():
        # The keys that a DID was created with.
        history.reads = [without_keys(read, first) if read.did == did else read for read in history.reads]
        versions[did][0] = frozenset({"created"})
    assert {did: len(recorded(there, did)) for did in versions} == {did: len(each) for did, each in versions.items()}
    assert problems(history.changes, history.reads, versions) == []
    # Each key made one DID, and there is no entry but those of the changes.
    events = [all_events(replica) for replica in installation.replicas]
    assert events[0] == events[1]
    assert [event["sequence"] for event in events[0]] == list(range(1, sum(map(len, versions.values())) + 1))
    proofs = proofs_between(there, history.checkpoints)
    assert tlog_check.check(program, proofs) == ["ok"] * len(proofs)
    outcomes = [change.outcome for change in history.changes]
    assert outcomes.count("done") > 20
    assert len(history.reads) > 20
    assert proofs
    with capsys.disabled():
        print(
            f"\n{rounds(len(FAULTS))} faults: {outcomes.count('done')} changes acknowledged, {outcomes.count('refused')} refused,"
            f" {outcomes.count('unknown')} unknown; {history.unknown} attempts without an answer, {history.repeated} repeated;"
            f" {len(history.reads)} reads; {len(proofs)} consistency proofs"
        )
