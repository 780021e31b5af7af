"""Reads of a DID at several processes and replicas, right after a change was acknowledged."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections import Counter
from pathlib import Path

from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import GENEROUS, Holder, did_path, rounds, service
from tests.attack.thief import Database, operator
from tests.fault.service_process import Running
from tests.fault.service_process import service as running_service
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

FUTURE = "2100-01-01T00:00:00Z"


def send_get(running: Running, path: str, *fields: bytes) -> Response:
    return exchange(running.wire.address, request("GET", path, b"X-Request-Id: mine", *fields))


def lived(running: Running, versions: int) -> Holder:
    holder = operator(running).holder()
    for number in range(1, versions):
        assert holder.act("update", service(f"s{number}")).status == 200
    return holder


def test_write_is_read_by_other_replica_at_once(tmp_path: Path, postgres_server: PostgresServer) -> None:
    folder = tmp_path / "data"
    environment = Database(folder, postgres_server.new_database()).environment
    with (
        running_service(folder, environment=environment) as one,
        running_service(folder, environment=environment) as two,
    ):
        for writer, reader in ((one, two), (two, one)):
            holder = lived(writer, 1)
            for version in range(1, 9):
                path = did_path(holder.did)
                for running in (writer, reader):
                    for tail in ("", f"?versionId={version}", f"?versionTime={FUTURE}"):
                        answer = send_get(running, path + tail)
                        assert (answer.status, answer.headers["etag"]) == (200, f'"{version}.did+ld+json"')
                assert holder.act("update", service(f"s{version}")).status == 200


def test_acknowledged_write_is_read_by_all_processes(tmp_path: Path) -> None:
    """Two processes remember the answer. Each change is made by one of them, and as soon as it is acknowledged many connections ask both at
    once, so that one look at what the other has written is all that many of the answers cost."""
    with running_service(tmp_path / "data", "--workers", "2", environment=GENEROUS) as running:
        running.wire.await_processes(2)
        hana = running.stranger.holder()
        data = request("GET", did_path(hana.did))
        with contextlib.ExitStack() as stack:
            asking = [
                stack.enter_context(socket.create_connection(running.wire.address, timeout=60)) for _ in range(48)
            ]
            processes = set()
            for number in range(2, rounds(12) + 2):
                for _ in range(2):
                    for _, headers in asked_together(asking, data):
                        processes.add(headers["x-request-id"].rpartition("-")[0])
                # Another connection may lead to the other process.
                running.wire.close()
                assert hana.act("update", service(f"s{number}")).status == 200
                found = Counter(headers["etag"] for _, headers in asked_together(asking, data))
                assert found == {f'"{number}.did+ld+json"': len(asking)}
        assert len(processes) == 2


def asked_together(asking: list[socket.socket], data: bytes) -> list[tuple[int, dict[str, str]]]:
    """The status and the header of each answer, when all have been asked before one is read."""
    for one in asking:
        one.sendall(data)
    found = []
    for one in asking:
        with http.client.HTTPResponse(one, method="GET") as answer:
            answer.begin()
            answer.read()
            found.append((answer.status, {name.lower(): value for name, value in answer.getheaders()}))
    return found
