"""Reads that are answered while their octets are parsed, against the same ones on the way of all requests: who announces a body, be it an
empty one, is never answered at once. What both say is the same, octet by octet, of every DID, in every media type, tampered rows too."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import LEAVE, Holder, did_path, rotation, service
from tests.attack.thief import Database, operator
from tests.fault.service_process import Running
from tests.fault.service_process import service as running_service

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
TAGS = (b"", b'"1.did+ld+json"', b'W/"2.did+json", "3.did-resolution"', b"*")
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
    ),
    *("/log", "/log?x=1"),
)
COMPARED = ("content-type", "etag", "vary", "cache-control", "retry-after", "allow")


@dataclass(frozen=True)
class Target:
    """A service, DIDs that have lived, and when the second version of one began."""

    running: Running
    dids: tuple[str, ...]
    began: str

    def ask(self, path: str, *fields: bytes) -> Response:
        return exchange(self.running.wire.address, request("GET", path, b"X-Request-Id: mine", *fields))


def lived(running: Running, versions: int) -> Holder:
    holder = operator(running).holder()
    for number in range(1, versions):
        assert holder.act("update", service(f"s{number}")).status == 200
    return holder


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder: Path = tmp_path_factory.mktemp("reads") / "data"
    with running_service(folder) as running:
        new, middle, long = (lived(running, versions) for versions in (1, 3, 6))
        graced, gone, changed, shortened = (lived(running, 2) for _ in range(4))
        assert graced.act("rotate", rotation(graced.key_id, revokeOldAfter=printed(time.time() + 3600))).status == 200
        assert gone.act("deactivate", LEAVE).status == 200
        time.sleep(1.1)
        began = printed(time.time())
        time.sleep(1.1)
        assert new.act("update", service("later")).status == 200
        thief = Database(folder, None)
        document = thief.row(changed.did, 2)["document"]
        thief.put(changed.did, 2, document=document.replace(b"hana", b"hahn"))
        thief.sql("DELETE FROM did_versions WHERE did = ? AND version_id = 1", shortened.did)
        holders = (new, middle, long, graced, gone, changed, shortened)
        strange = ("did:ids:unknown", "did:web:", "did:none:a", "no-did")
        yield Target(running, (*(holder.did for holder in holders), *strange), began)


def printed(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def shown(response: Response) -> tuple[int, list[tuple[str, str | None]], bytes]:
    fields = {name: value for name, value in response.headers.items() if name in COMPARED}
    assert response.status == 304 or int(response.headers["content-length"]) == len(response.body)
    # On a busy machine one of two takes milliseconds.
    return response.status, sorted(fields.items()), re.sub(rb'"duration":[0-9]+', b"", response.body)


def test_both_ways_say_the_same(target: Target) -> None:
    seen = Counter[int]()
    for did in target.dids:
        for tail in (*TAILS, f"?versionTime={target.began}"):
            for place, accept in enumerate(ACCEPTS):
                tag = TAGS[place % len(TAGS)]
                fields = [b"Accept: " + accept] * bool(accept) + [b"If-None-Match: " + tag] * bool(tag)
                path = did_path(did) + tail
                quickly, slowly = target.ask(path, *fields), target.ask(path, *fields, b"Content-Length: 0")
                assert shown(quickly) == shown(slowly), (did, tail, fields)
                seen[quickly.status] += 1
    assert seen.total() > 1_500
    assert seen.keys() == {200, 304, 400, 404, 406, 410, 503}
