"""Reads that are answered from stored bytes, against the same ones by handlers, which decode documents. What both say is the same,
byte by byte, of every DID, in every media type, tampered rows too.

A second replica, which reads nothing from stored bytes (``decoding_replica``), is asked for the same.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from identity_core.api.decode import cursor
from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import GENEROUS, LEAVE, Holder, did_path, rotation, rounds, service
from tests.attack.thief import Database, operator
from tests.fault.service_process import Running
from tests.fault.service_process import service as running_service
from tests.postgres_server import postgres_server

__all__ = ["postgres_server"]

ACCEPTS = (
    *(
        b"",
        b"application/json",
        b"application/did+json",
        b"application/did",
        b"application/did-resolution",
        b"text/html",
    ),
    *(b"application/ld+json", b'application/ld+json;profile="https://w3id.org/did-resolution"', b"application/jsonl"),
)
IDENTIFIED_ACCEPTS = (*ACCEPTS, b"*/*", b"application/did+ld+json", b"application/did-url-dereferencing")
TAGS = (b"", b'"1.did+ld+json"', b'W/"2.did+json", "3.did-resolution"', b"*")
KEY = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
PAST, FUTURE = "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
TAILS = (
    *(
        "",
        "?versionId=1",
        "?versionId=2",
        "?versionId=3",
        "?versionId=6",
        "?versionId=99",
        "?versionId=0",
        "?versionId=x",
    ),
    *(
        f"?versionTime={PAST}",
        f"?versionTime={FUTURE}",
        "?versionTime=now",
        f"?versionId=1&versionTime={FUTURE}",
        "?no=1",
    ),
    *(
        "/history",
        "/history?limit=2",
        "/history?limit=2&order=desc",
        "/history?includeDocument=true",
        "/history?cursor=%",
        "/history?limit=1",
        "/history?limit=6",
        "/history?limit=6&order=desc&includeDocument=true",
        "/history?limit=0",
        "/history?limit=201",
        "/history?order=up",
        "/history?includeDocument=1",
        "/history?versionId=1",
    ),
    *(
        f"/history?cursor={cursor(place)}{order}{limit}"
        for place in ("1", "2", "6", "7", "9999999999", "0", "x")
        for order in ("", "&order=desc")
        for limit in ("", "&limit=1", "&limit=3&includeDocument=true")
    ),
    *("/log", "/log?x=1"),
)
IDENTIFIED = (
    *("", "?versionId=1", "?versionId=2", "?versionId=99", "?versionId=0"),
    *(f"?versionTime={PAST}", f"?versionTime={FUTURE}", "?versionTime=now", f"?versionId=1&versionTime={FUTURE}"),
    *("?noCache=true", "?publicKeyFormat=Multikey", "?service=s1", "?service=no", "?relativeRef=%2Fa", "?no=1"),
    *(
        "%3FversionId=1",
        "%3FversionId=1?versionId=1",
        "%3FversionId=2",
        "%3Fservice=s1",
        "%23no",
        "%2Fpath",
        "%20",
        "%0A",
    ),
)
COMPARED = ("content-type", "etag", "vary", "cache-control", "retry-after", "allow", "location")


@dataclass(frozen=True)
class Target:
    """A service, a replica of it that decodes, DIDs that have lived, and when the second version of one began."""

    running: Running
    decoding: Running
    dids: tuple[str, ...]
    began: str

    def ask(self, path: str, *fields: bytes) -> Response:
        return send_get(self.running, path, *fields)

    def decoded(self, path: str, *fields: bytes) -> Response:
        return send_get(self.decoding, path, *fields)


def send_get(running: Running, path: str, *fields: bytes) -> Response:
    return exchange(running.wire.address, request("GET", path, b"X-Request-Id: mine", *fields))


def lived(running: Running, versions: int) -> Holder:
    holder = operator(running).holder()
    for number in range(1, versions):
        assert holder.act("update", service(f"s{number}")).status == 200
    return holder


@pytest.fixture(scope="module")
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder: Path = tmp_path_factory.mktemp("reads") / "data"
    url = request.getfixturevalue("postgres_server").new_database()
    thief = Database(folder, url)
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(running_service(folder, environment=thief.environment))
        module = {"IDENTITY_PLUGINS_MODULES": "tests.attack.decoding_replica"}
        decoding = stack.enter_context(running_service(folder, environment=thief.environment | module))
        new, middle, long = (lived(running, versions) for versions in (1, 3, 6))
        graced, gone, changed, shortened, behind = (lived(running, 2) for _ in range(5))
        assert graced.act("rotate", rotation(graced.key_id, revokeOldAfter=printed(time.time() + 3600))).status == 200
        assert gone.act("deactivate", LEAVE).status == 200
        time.sleep(1.1)
        began = printed(time.time())
        time.sleep(1.1)
        assert new.act("update", service("later")).status == 200
        document = thief.row(changed.did, 2)["document"]
        thief.overwrite(changed.did, 2, document=document.replace(b"hana", b"hahn"))
        thief.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 1", shortened.did)
        thief.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 2", behind.did)
        holders = (new, middle, long, graced, gone, changed, shortened, behind)
        unknown = new.did[:-4] + ("zzzz" if new.did[-4:] != "zzzz" else "yyyy")
        strange = (unknown, "did:ids:unknown", "did:web:", "did:none:a", "no-did", KEY)
        yield Target(running, decoding, (*(holder.did for holder in holders), *strange), began)


def printed(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def stable_response(response: Response) -> tuple[int, list[tuple[str, str | None]], bytes]:
    fields = {name: value for name, value in response.headers.items() if name in COMPARED}
    assert response.status == 304 or int(response.headers["content-length"]) == len(response.body)
    # On a busy machine one of two takes milliseconds.
    return response.status, sorted(fields.items()), re.sub(rb'"duration":[0-9]+', b"", response.body)


def same(target: Target, path: str, place: int, accepts: Sequence[bytes] = ACCEPTS) -> int:
    """Asks on both ways, as client ``place``; the status."""
    accept, tag = accepts[place % len(accepts)], TAGS[place % len(accepts) % len(TAGS)]
    fields = [b"Accept: " + accept] * bool(accept) + [b"If-None-Match: " + tag] * bool(tag)
    quickly, slowly = target.ask(path, *fields), target.decoded(path, *fields)
    assert stable_response(quickly) == stable_response(slowly), (path, fields)
    return quickly.status


def test_both_ways_say_the_same(target: Target) -> None:
    seen, place = Counter[int](), 0
    for did in target.dids:
        for tail in (*TAILS, f"?versionTime={target.began}"):
            # What a page of history says hangs on no header. The DIDs meet the media types in turn.
            for _ in range(1 if tail.startswith("/history?") else len(ACCEPTS) // 3):
                seen[same(target, did_path(did) + tail, place := place + 1)] += 1
    assert seen.total() > 1_400
    assert seen.keys() == {200, 304, 400, 404, 406, 410, 503}


def test_both_ways_identify_the_same(target: Target) -> None:
    seen, place = Counter[int](), 0
    for did in target.dids:
        for tail in (*IDENTIFIED, f"?versionTime={target.began}"):
            for _ in IDENTIFIED_ACCEPTS:
                seen[same(target, f"/1.0/identifiers/{did}{tail}", place := place + 1, IDENTIFIED_ACCEPTS)] += 1
    assert seen.total() > 2_500
    assert seen.keys() == {200, 303, 304, 400, 404, 406, 410, 501, 503}


def test_write_is_read_by_other_replica_at_once(target: Target) -> None:
    for writer, reader in ((target.running, target.decoding), (target.decoding, target.running)):
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
