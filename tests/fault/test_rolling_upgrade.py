"""A replica of an earlier commit and one of this tree on one PostgreSQL, as while replicas are replaced one after the other.

``IDENTITY_EARLIER`` is a checkout of the earlier commit, installed in its ``.venv``; ``tox -e rolling`` creates it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify

from identity_codec.values import replace
from tests import servers
from tests.attack.stranger import (
    LEAVE,
    Answer,
    Holder,
    body_hash,
    did_path,
    header,
    recovery_body,
    rotation,
    service,
    signing_key,
)
from tests.attack.stranger import public as multikey_of
from tests.fault import service_process
from tests.fault.creators import Acknowledged, creating
from tests.fault.service_process import API_KEY, STARTED, Running, kept_port
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

EARLIER = os.environ.get("IDENTITY_EARLIER")
pytestmark = pytest.mark.skipif(EARLIER is None, reason="IDENTITY_EARLIER is not set: run tox -e rolling")
KEY = {"X-API-Key": API_KEY}
MORE = 20
SECONDS = 60.0


@dataclass
class Written:
    """The acknowledged changes: versions by DID, and the DIDs that are deactivated."""

    holders: dict[str, Holder] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def create(self, replica: Running) -> Holder:
        holder = replica.stranger.holder()
        self.holders[holder.did], self.versions[holder.did] = holder, 1
        return holder

    def change(self, replica: Running, did: str, act: str, body: Any) -> Answer:
        """Change a DID with a challenge of the replica that gets the request."""
        holder = replace(self.holders[did], wire=replica.wire)
        answer = holder.act(act, body)
        assert answer.status == 200, (act, answer.body)
        self.versions[did] += 1
        if act == "rotate":
            self.holders[did] = replace(holder, key=signing_key(answer.json["newKey"]["privateKey"]))
        if act == "deactivate":
            self.gone.add(did)
        return answer

    def check(self, replica: Running) -> None:
        """Every acknowledged change is there, each log verifies, and no DID is withheld."""
        for did, number in self.versions.items():
            log = replica.wire.call("GET", did_path(did) + "/log")
            assert log.status == 200, log.body
            assert verify(log.body, now=datetime.now(UTC)).versions == number
            resolved = replica.wire.call("GET", did_path(did))
            assert resolved.status == (410 if did in self.gone else 200), resolved.body
        ready = replica.wire.call("GET", "/ready", headers=KEY).json
        assert ready["dependencies"] | {"limits": "ok"} == dict.fromkeys(ready["dependencies"], "ok")


@dataclass
class Installation:
    """An installation on PostgreSQL that replicas of both commits serve."""

    folder: Path
    environment: Mapping[str, str]
    stack: contextlib.ExitStack

    def start(self, name: str, *, earlier: bool) -> Running:
        port = self.stack.enter_context(kept_port())
        checkout = {"checkout": Path(EARLIER), "before": STARTED} if earlier and EARLIER else {}
        folder = self.folder / name
        started = service_process.service(folder, "--port", f"{port}", environment=self.environment, **checkout)
        return self.stack.enter_context(started)

    def run(self, name: str, *words: str | Path, earlier: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command on the databases, with the data directory of the replica ``name``."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("IDENTITY_")}
        environment = inherited | {"API_KEY": API_KEY} | dict(self.environment)
        words = (*words, "--data-dir", self.folder / name)
        if not earlier or EARLIER is None:
            return servers.run(*words, environment=environment)
        command = [Path(EARLIER) / ".venv" / "bin" / "python", "-m", "identity_core", *words]
        return subprocess.run(
            command, env=environment, cwd=EARLIER, capture_output=True, text=True, timeout=SECONDS, check=False
        )


@pytest.fixture
def installation(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Installation]:
    environment = {
        "IDENTITY_DATABASE_URL": postgres_server.new_database(),
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for all replicas",
        **servers.CHEAP_PASSPHRASE,
        "IDENTITY_SERVER_PUBLIC_URL": "https://id.example",
    }
    with contextlib.ExitStack() as stack:
        yield Installation(tmp_path, environment, stack)


def stop(replica: Running) -> None:
    replica.process.terminate()
    replica.process.wait(60)
    assert "ALARM" not in replica.log.read_text()


def change_everything(written: Written, first: Running, second: Running) -> None:
    """Change the same DIDs at two replicas in turn, and read each change at the other one at once."""
    dids = [written.create(replica).did for replica in (first, second) for _ in range(2)]
    for turn, (one, other) in enumerate(((first, second), (second, first))):
        for did in dids:
            written.change(one, did, "update", service(f"s{turn}"))
            resolved = other.wire.call("GET", did_path(did), headers={"Accept": "application/did-resolution"})
            assert resolved.json["didDocumentMetadata"]["versionId"] == str(written.versions[did]), resolved.body
    for number, did in enumerate(dids):
        one, other = (first, second) if number % 2 else (second, first)
        holder = written.holders[did]
        written.change(one, did, "rotate", rotation(holder.key_id))
        written.change(other, did, "update", service("rotated"))
        fresh = signing_key(first.stranger.create({"method": "key"}).json["keys"]["authentication"]["privateKey"])
        written.change(one, did, "recover", recovery_body(multikey_of(fresh)))
        written.holders[did] = replace(written.holders[did], key=fresh)
        if number % 3 == 0:
            written.change(other, did, "deactivate", LEAVE)


def test_two_commits_serve_one_database(installation: Installation) -> None:
    written, created = Written(), Acknowledged()
    a, b = [installation.start(name, earlier=True) for name in ("a", "b")]
    change_everything(written, a, b)
    with creating([a], created, each=2):
        stop(b)
        b = installation.start("b", earlier=False)
        change_everything(written, a, b)
        challenges_cross(a, b)
        with creating([b], created, each=2):
            assert created.more(MORE, SECONDS) < SECONDS
    assert (created.refused, created.strange, created.lost_answers) == ({}, [], 0)
    for replica in (a, b):
        written.check(replica)
    stop(a)
    a = installation.start("a", earlier=False)
    change_everything(written, a, b)
    for replica in (a, b):
        written.check(replica)
        for did in created.hashes:
            assert replica.wire.call("GET", did_path(did)).status == 200
    for replica in (a, b):
        stop(replica)
    assert json.loads(installation.run("b", "fsck", "--deep", "--json").stdout)["findings"] == []
    assert json.loads(installation.run("b", "ledger", "audit", "--json").stdout)["findings"] == []


def challenges_cross(earlier: Running, later: Running) -> None:
    """A header that names a challenge of the earlier commit is accepted by both, once. One of this tree is 401 at the earlier commit."""
    for issuer, other, status in ((earlier, later, 200), (later, earlier, 401)):
        holder, body = issuer.stranger.holder(), service("named")
        challenge = holder.challenge("update", body_hash(body))
        named = header(challenge, holder.key.sign(challenge.encode()).signature)
        there, here = (replace(holder, wire=one.wire) for one in (other, issuer))
        assert there.send("update", body, named).status == status
        assert here.send("update", body, named).status == (401 if status == 200 else 200)


def dumped(installation: Installation, server: PostgresServer, file: Path) -> None:
    command = [
        server.bin / "pg_dump",
        "--format",
        "custom",
        "--file",
        file,
        "--dbname",
        installation.environment["IDENTITY_DATABASE_URL"],
    ]
    subprocess.run(command, check=True, timeout=SECONDS)


def test_way_back_on_postgresql(installation: Installation, postgres_server: PostgresServer, tmp_path: Path) -> None:
    """A dump of before the upgrade is put back, as docs/how-to/upgrade.md says. What it has is there."""
    written, after = Written(), Written()
    a = installation.start("a", earlier=True)
    change_everything(written, a, a)
    dumped(installation, postgres_server, tmp_path / "dump")
    stop(a)
    b = installation.start("b", earlier=False)
    change_everything(after, b, b)
    stop(b)
    refused = installation.run("a", "serve", "--port", "0", earlier=True)
    assert (refused.returncode, "made by a newer version" in refused.stderr) == (1, True)
    url = postgres_server.new_database()
    subprocess.run(
        [postgres_server.bin / "pg_restore", "--dbname", url, tmp_path / "dump"], check=True, timeout=SECONDS
    )
    (tmp_path / "a").rename(tmp_path / "moved")
    back = replace(installation, environment={**installation.environment, "IDENTITY_DATABASE_URL": url})
    a = back.start("a", earlier=True)
    written.check(a)
    change_everything(written, a, a)
    written.check(a)
