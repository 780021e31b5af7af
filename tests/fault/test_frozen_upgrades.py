"""Frozen installations of earlier commits are upgraded: nothing is reported, and everything in them resolves, verifies and changes.

``tests/vectors/upgrades`` has the archives, the script that made them, and what is in them.
"""

from __future__ import annotations

import base64
import json
import math
import os
import sqlite3
import tarfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from identity_commands import verify_log as log

from identity_client import ServiceError, Session, Signer, ibct
from tests import servers
from tests.fault import service_process
from tests.postgres_server import PostgresServer, postgres_server
from tests.vectors.upgrades.make import API_KEY, PASSPHRASE, first, text

__all__ = ["postgres_server"]

ARCHIVES = Path(__file__).parents[1] / "vectors" / "upgrades"
COMMITS = ("4d59b3b2", "4186830e", "31f72854")
# The default run upgrades the oldest and the newest on SQLite, and the newest on PostgreSQL, which has the same rows.
SAMPLE = [pytest.param(one, marks=() if one in (COMMITS[0], COMMITS[-1]) else pytest.mark.nightly) for one in COMMITS]
NEWEST = [pytest.param(one, marks=() if one == COMMITS[-1] else pytest.mark.nightly) for one in COMMITS]
# What the frozen installation is on purpose, or the machine, or what the service needs a minute for: lists in the transparency log.
EXPECTED_WARNINGS = {"database", "credentials", "master key", "backups", "throttle", "status lists"}


@dataclass
class Installation:
    """An extracted installation: its data directory, the settings it needs, and what it answered before it was frozen."""

    folder: Path
    environment: dict[str, str]
    expected: dict[str, Any]

    def run(self, *arguments: str | Path) -> Any:
        """Return what a command prints as JSON."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        environment = inherited | self.environment
        told = servers.run(*arguments, "--data-dir", self.folder, "--json", environment=environment)
        assert told.stdout, told.stderr
        return json.loads(told.stdout)


def extracted(commit: str, database: str, folder: Path) -> Path:
    with tarfile.open(ARCHIVES / f"{commit}.{database}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data").chmod(0o700)
    return folder / "data"


def on_sqlite(commit: str, folder: Path) -> Installation:
    data = extracted(commit, "sqlite", folder)
    return Installation(data, {"API_KEY": API_KEY}, json.loads((folder / "expected.json").read_text()))


def on_postgresql(commit: str, folder: Path, server: PostgresServer) -> Installation:
    data, url = extracted(commit, "postgresql", folder), server.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((folder / "dump.sql").read_bytes())
    environment = {"API_KEY": API_KEY, "IDENTITY_DATABASE_URL": url, "IDENTITY_PLUGINS_SEALED_PASSPHRASE": PASSPHRASE}
    environment |= servers.CHEAP_PASSPHRASE
    return Installation(data, environment, json.loads((folder / "expected.json").read_text()))


@pytest.mark.parametrize("commit", SAMPLE)
def test_sqlite(commit: str, tmp_path: Path) -> None:
    is_upgraded(on_sqlite(commit, tmp_path))


@pytest.mark.parametrize("commit", NEWEST)
def test_postgresql(commit: str, tmp_path: Path, postgres_server: PostgresServer) -> None:
    is_upgraded(on_postgresql(commit, tmp_path, postgres_server))


@pytest.mark.parametrize("commit", SAMPLE)
def test_restore_as_is_keeps_the_bytes(commit: str, tmp_path: Path) -> None:
    """A backup of before the upgrade is put back for the version of before."""
    installation = on_sqlite(commit, tmp_path)
    before = dumped(installation.folder)
    (tmp_path / "safe").mkdir()
    (tmp_path / "backups").mkdir()
    key, backup = tmp_path / "safe" / "key", tmp_path / "backups" / "before"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    installation.run("backup", "create", backup, "--key-file", key)
    installation.run("upgrade", "apply", "--backup", backup, "--key-file", key)
    installation.folder.rename(tmp_path / "upgraded")
    assert installation.run("backup", "restore", backup, "--key-file", key, "--as-is")["serves"]
    assert dumped(installation.folder) == before
    assert dumped(tmp_path / "upgraded") != before


def dumped(folder: Path) -> dict[str, list[str]]:
    """Return every statement that makes each database of the installation."""
    found = {}
    for path in folder.glob("*.sqlite"):
        if path.name != "limits.sqlite":
            with closing(sqlite3.connect(path)) as connection:
                found[path.name] = list(connection.iterdump())
    return found


def is_upgraded(installation: Installation) -> None:
    """Upgrade it, start the service, use everything, stop it, and look for what is reported."""
    kept = installation.run("upgrade", "check")["keptExtensions"]
    installation.run("upgrade", "apply", "--yes")
    assert "vcalm" in kept
    assert kept == installation.run("upgrade", "check")["keptExtensions"]
    # Rows of the document index are written anew by the first start; that they are of an earlier form is no finding.
    assert installation.run("fsck")["findings"] == []
    with service_process.service(installation.folder, environment=installation.environment) as running:
        assert "ALARM" not in running.log.read_text()
        with Session(running.wire.url, api_key=API_KEY) as session:
            # An upgrade takes nothing away: it was served before, and no setting enables it.
            assert "challenge" in session.call("POST", "/vcalm/challenges", signed_in=False)
            resolves(session, installation.expected["people"])
            verifies(session, installation.expected)
            changes(session, installation.expected["people"])
            proves_anew(session, installation.expected)
        running.process.terminate()
        running.process.wait(60)
        assert "ALARM" not in running.log.read_text()
    findings = installation.run("doctor")["findings"]
    assert {one["check"] for one in findings if one["state"] in ("warn", "fail")} <= EXPECTED_WARNINGS, findings
    # The PostgreSQL server of tests does not wait for the disk.
    failed = {"database"} if "IDENTITY_DATABASE_URL" in installation.environment else set()
    assert {one["check"] for one in findings if one["state"] == "fail"} == failed, findings
    assert installation.run("fsck", "--deep")["findings"] == []
    assert installation.run("ledger", "audit")["findings"] == []


def resolves(session: Session, people: list[dict[str, Any]]) -> None:
    assert len(people) >= 90
    for person in people:
        did = person["did"]
        if person["status"] != 200:
            with pytest.raises(ServiceError) as refused:
                session.resolve(did)
            assert refused.value.status == person["status"]
            continue
        found = session.resolve(did)
        # The grace period of a frozen key ends some day.
        if person["kind"] != "grace":
            assert found["didDocument"] == person["document"]
            assert found["didDocumentMetadata"].items() >= person["metadata"].items()
        history = list(session.whole_history(did))
        assert len(history) == len(person["history"]) + (person["kind"] == "grace") * (len(history) > 2)
        for known, item in zip(person["history"], history, strict=False):
            assert item.items() >= known.items()
        if person["kind"] != "plain":
            log.verify(session.get_bytes(f"/dids/{quote(did, safe='')}/log"))


def verifies(session: Session, expected: dict[str, Any]) -> None:
    """Credentials, stored proofs and API keys."""
    for one in expected["credentials"]:
        found = session.call("GET", f"/credentials/{quote(one['id'], safe='')}")
        status = {"suspension": "suspended", "revocation": "revoked"}.get(one["status"], "active")
        assert found["status"] == status
    for proof in expected["proofs"]:
        stored = session.call("GET", f"/zkp/proofs/{proof['id']}")
        assert stored["proof"] == proof["proof"]
        checked = session.call("POST", f"/zkp/proofs/{proof['id']}/verify", body={})
        wrong = {check["check"]: check["code"] for check in checked["checks"] if check["ok"] is False}
        assert wrong == wrong_of(proof), checked
        assert checked["verified"] is (wrong == {}), checked
    kept, rotated, revoked = expected["keys"]
    with Session(session.url, api_key=kept["key"]) as caller:
        caller.call("GET", "/admin/api-keys")
    for key in (rotated, revoked):
        with Session(session.url, api_key=key["key"]) as caller, pytest.raises(ServiceError) as refused:
            caller.call("GET", "/admin/api-keys")
        assert refused.value.status == 401


def wrong_of(proof: dict[str, Any]) -> dict[str, str]:
    """Return the failed checks of a frozen proof now. An expired proof fails one check. A proof whose consent ended fails no other."""
    text = proof["proof"]["proof"]
    envelope = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    now = datetime.now(UTC).timestamp()
    if now >= envelope["context"]["expiresAt"]:
        return {"time": "PROOF_EXPIRED"}
    # The service of these commits made consents of one hour or two for proofs that last until midnight.
    ends = (envelope.get("consent") or {"notAfter": math.inf})["notAfter"]
    ended = {"time": "PROOF_EXPIRED"} if now >= ends else {}
    return ended | ({"revocation": "PROOF_REVOKED"} if proof["state"] == "revoked" else {})


def changes(session: Session, people: list[dict[str, Any]]) -> None:
    """Every DID but most of the plain ones is updated; some are rotated, recovered or deactivated then, by their kind of history."""
    for number, person in enumerate(people):
        if person["status"] != 200 or (person["kind"] == "plain" and number % 8 > 0):
            continue
        did, kind = person["did"], person["kind"]
        signer = Signer(did, person["keys"]["authentication"])
        service = {"id": "#after", "type": "LinkedDomains", "serviceEndpoint": "https://example.org/"}
        session.update(did, {"operation": "addService", "service": service}, signer)
        if kind in ("updated", "many"):
            key = first(session.resolve(did)["didDocument"]["authentication"])
            session.rotate(did, {"oldKeyId": key, "newKeyType": "Ed25519", "purpose": ["authentication"]}, signer)
        elif kind in ("keys", "grace"):
            fresh = session.create({"method": "key", "keyType": "Ed25519"})["keys"]["authentication"]
            new = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": fresh["publicKey"]}
            recovery = Signer(did, person["keys"]["recovery"])
            session.recover(did, {"newAuthenticationKey": new, "revokeAllExistingKeys": True}, recovery)
        elif kind == "rotated":
            assert session.deactivate(did, {"confirm": True, "reason": "after the upgrade"}, signer)["deactivated"]


def proves_anew(session: Session, expected: dict[str, Any]) -> None:
    """A new delegation, and a proof from each credential in force."""
    signers = {one["did"]: Signer(one["did"], one["keys"]["authentication"]) for one in expected["people"]}
    holder, agent = signers[expected["holder"]], signers[expected["agent"]]
    action = ibct.action_text("age", "gte")
    terms = {
        "holderDid": holder.did,
        "agentDid": agent.did,
        "actions": [action],
        "maxThresholds": None,
        "autonomyLevel": 4,
        "expiresAt": text(datetime.now(UTC) + timedelta(days=1)),
    }
    delegation = session.call("POST", "/delegations", body=terms)["id"]
    bearer = {"Authorization": f"Bearer {session.token(agent)['access_token']}"}
    for credential in expected["credentials"]:
        if credential["status"] is not None:
            continue
        wish = ibct.IbctTemplate(agent.did, action, delegation, timedelta(minutes=15))
        body = ibct.proof_request(ibct.sign_token(holder, wish), credential["id"], value=18)
        made = session.call("POST", "/zkp/delegated-proofs", body=body, headers=bearer)
        checked = session.call("POST", f"/zkp/proofs/{made['proofId']}/verify", body={})
        assert checked["verified"] is True
