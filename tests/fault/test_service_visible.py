"""What is broken shows: in /ready, in the metrics, and in ``identity plugins list --url``; what still works answers 200."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from plugins.isolation.tests.crew import alive
from tests import servers
from tests.attack.stranger import did_path
from tests.fault import service_process
from tests.fault.service_process import Running, eventually
from tests.redis_server import redis_server


def ready(running: Running) -> tuple[int, Any]:
    answer = running.wire.call("GET", "/ready", None, {"X-API-Key": service_process.API_KEY})
    return answer.status, answer.json


def metric(running: Running, line: str) -> float:
    """The value of a sample, 0 where there is none."""
    text = running.wire.call("GET", "/metrics", None, {"X-API-Key": service_process.API_KEY}).body.decode()
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def is_limiting_together(running: Running) -> bool:
    """Whether the limits are those of the shared store. A store that had no CPU for 60 ms is degraded for a moment, too."""
    limits = ready(running)[1]["dependencies"]["limits"]
    return limits == "ok" and metric(running, "identity_limiter_degraded") == 0


def test_a_limiter_without_its_store_is_degraded_and_serves(tmp_path: Path) -> None:
    with redis_server() as redis:
        environment = {"IDENTITY_THROTTLE_REDIS_URL": redis.url}
        with service_process.service(tmp_path / "data", environment=environment) as running:
            hana = running.stranger.holder()
            eventually(lambda: is_limiting_together(running), "the store answers in time")
            redis.freeze()
            assert running.wire.call("GET", did_path(hana.did)).status == 200
            status, body = ready(running)
            assert (status, body["status"], body["dependencies"]["limits"]) == (200, "ready", "degraded")
            assert metric(running, "identity_limiter_degraded") == 1
            assert metric(running, "identity_limiter_local_decisions_total") > 0
            redis.thaw()
            eventually(lambda: is_limiting_together(running), "the store is found again")


def test_a_custodian_that_cannot_read_its_keys_is_not_ready(tmp_path: Path) -> None:
    with service_process.service(tmp_path / "data") as running:
        assert ready(running)[1]["dependencies"]["custodian"] == "ok"

        def rename(old: str, new: str) -> None:
            with closing(sqlite3.connect(tmp_path / "data" / "custodian.sqlite")) as database:
                database.execute(f"ALTER TABLE {old} RENAME TO {new}")

        rename("custodian_keys", "renamed")
        eventually(lambda: ready(running)[0] == 503, "the service is not ready")
        assert ready(running)[1]["dependencies"]["custodian"] == "down"
        rename("renamed", "custodian_keys")
        eventually(lambda: ready(running)[0] == 200, "the service is ready again")


def prover_processes(server: int) -> list[int]:
    """The children that lead a process group of their own."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                _, parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(parent) == server and group == folder.name:
                found.append(int(folder.name))
    return found


def test_prover_process_that_dies_is_replaced_and_restart_shows(tmp_path: Path) -> None:
    environment = {"IDENTITY_PROVER_WORKERS": "2", "IDENTITY_PROVER_BACKEND": "bbs"}
    with service_process.service(tmp_path / "data", environment=environment) as running:
        fresh = {"wanted": 2, "ready": 2, "restarts": 0}
        eventually(lambda: prover(running)["processes"] == fresh, "two prover processes")
        before = prover_processes(running.process.pid)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        replaced = {"wanted": 2, "ready": 2, "restarts": 1}
        eventually(lambda: prover(running)["processes"] == replaced, "one of them replaced")
        assert prover(running)["state"] == "active"
        assert ready(running)[0] == 200
        assert metric(running, 'identity_plugin_process_restarts_total{plugin="prover:bbs"}') == 1
        assert metric(running, 'identity_plugin_processes{plugin="prover:bbs"}') == 2
        environment = {**os.environ, "IDENTITY_API_KEY": service_process.API_KEY}
        told = servers.run("plugins", "list", "--url", running.wire.url, "--json", environment=environment)
        listed = json.loads(told.stdout)
        (row,) = [row for row in listed if row["name"] == "bbs"]
        assert (row["state"], row["reason"]) == ("active", "2 of 2 processes, 1 restarts")
        last = prover_processes(running.process.pid)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
        eventually(lambda: not any(map(alive, last)), "its prover processes have ended")
        # The process that was killed is told of in a line; those that end with the service are not.
        assert running.log.read_text().count("worker process") == 1


def prover(running: Running) -> Any:
    return ready(running)[1]["plugins"]["prover:bbs"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_prover_process_outlives_a_server_that_is_killed(tmp_path: Path, workers: str) -> None:
    environment = {"IDENTITY_PROVER_BACKEND": "bbs"}
    with service_process.service(tmp_path / "data", "--workers", workers, environment=environment) as running:
        parent = running.process.pid
        # Ready is the service when one of its processes is.
        eventually(lambda: len(all_provers(parent, workers)) == int(workers), "a prover for each server process")
        provers = all_provers(parent, workers)
        running.kill()
        eventually(lambda: not any(map(alive, provers)), "no prover process is left")


def all_provers(parent: int, workers: str) -> list[int]:
    """Those of every server process: the one that was started, or else those that a child of it has forked."""
    servers = [parent]
    if workers == "2":
        servers = [worker for child in children(parent) for worker in children(child)]
    return [pid for server in servers for pid in prover_processes(server)]


def children(parent: int) -> list[int]:
    try:
        return [
            int(pid)
            for task in Path(f"/proc/{parent}/task").iterdir()
            for pid in (task / "children").read_text().split()
        ]
    except FileNotFoundError:
        # It has just ended.
        return []
