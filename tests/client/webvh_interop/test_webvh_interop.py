"""Tests with an independent reader of did:webvh, the npm package ``didwebvh-ts``: it resolves a DID of the service over HTTP.

It accepts the log after every change, and refuses a log that was changed by another program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.stranger import (
    Holder,
    Stranger,
    public,
    recovery_body,
    rotation,
    service,
    signing_key,
    witness_proof,
)
from tests.fault.service_process import API_KEY, Running
from tests.fault.service_process import service as running_service
from tests.made_once import once

HERE = Path(__file__).parent
HOST = "id.example:8443"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the JavaScript implementation as the lock file says."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        if os.environ.get("CI"):
            pytest.fail("node and npm are not installed")
        pytest.skip("node and npm are not installed")

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json", ".npmrc", "read.mjs"):
            shutil.copy(HERE / name, folder)
        subprocess.run([npm, "ci"], cwd=folder, check=True, capture_output=True, timeout=300)

    return once(tmp_path_factory, "webvh-interop", install)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("webvh") / "data"
    with running_service(folder, environment={"IDENTITY_PLUGINS_WEBVH_HOST": HOST}) as started:
        yield started


def lived(running: Running) -> tuple[str, list[bytes], list[Any]]:
    """A DID that was changed, robbed, recovered to version 2 and ended; its log, and its document after each change."""
    operator = Stranger(running.wire, API_KEY)
    made = operator.create({"method": "webvh", "keyType": "Ed25519", "options": {"recoveryKey": True}}).json
    keys = {name: signing_key(key["privateKey"]) for name, key in made["keys"].items()}
    hana = Holder(running.wire, made["did"], keys["authentication"], keys["recovery"], made)
    theirs, fresh = SigningKey.generate(), SigningKey.generate()
    documents = [made["didDocument"]]
    for act, body, key in (
        ("update", service("mine"), None),
        ("rotate", rotation(hana.key_id, public(theirs)), None),
        ("update", service("theirs", "https://thief.example/"), theirs),
        ("recover", recovery_body(public(fresh), revoke=False, restoreVersion=2), None),
        ("deactivate", {"confirm": True, "reason": "over"}, fresh),
    ):
        answer = hana.act(act, body, key=key)
        assert answer.status == 200, answer.body
        if act != "deactivate":
            documents.append(hana.resolve().json["didDocument"])
    return hana.did, hana.log().splitlines(), documents


def without_implied(document: Any) -> Any:
    """The document without the services that a reader adds: did:webvh 1.0, "DID URL Resolution"."""
    own = [service for service in document.get("service", []) if not service["id"].startswith("#")]
    rest = {name: value for name, value in document.items() if name != "service"}
    return rest | {"service": own} if own else rest


def spoilt(line: bytes, **members: Any) -> bytes:
    return json.dumps(json.loads(line) | members).encode()


def test_it_finds_the_did_and_takes_its_log_after_every_change(reader: Path, running: Running) -> None:
    did, lines, documents = lived(running)
    logs = {f"{number} versions": lines[:number] for number in range(1, len(documents) + 1)}
    third = json.loads(lines[2])
    bad = {
        "another document": [
            *lines[:2],
            spoilt(lines[2], state=third["state"] | {"alsoKnownAs": ["https://a.example/"]}),
        ],
        "another time": [*lines[:2], spoilt(lines[2], versionTime="2026-01-01T00:00:00Z")],
        # Not an empty list of proofs: version 2.8.0 of the package takes it.
        "the proof of another entry": [*lines[:2], spoilt(lines[2], proof=json.loads(lines[1])["proof"])],
        "an entry left out": [lines[0], lines[2]],
        "an entry twice": [*lines[:2], lines[1]],
    }
    asked = {"did": did, "host": HOST, "url": running.wire.url}
    everything = asked | {"logs": {name: [line.decode() for line in log] for name, log in (logs | bad).items()}}
    command = [shutil.which("node") or "node", "read.mjs"]
    done = subprocess.run(
        command, cwd=reader, input=json.dumps(everything), capture_output=True, text=True, check=True, timeout=120
    )
    told = json.loads(done.stdout)
    assert told["asked"][0] == f"https://{HOST}/dids/{did.split(':')[2]}/did.jsonl"
    assert told["found"]["versionId"].startswith("6-"), told["found"]
    assert told["found"]["deactivated"] is True
    for number, document in enumerate(documents, 1):
        read = told["logs"][f"{number} versions"]
        assert without_implied(read["doc"]) == document, read
        assert (read["versionId"].split("-")[0], read["deactivated"]) == (str(number), False)
    assert [name for name in bad if "error" not in told["logs"][name]] == []


def test_it_follows_from_one_list_of_witnesses_to_the_next(reader: Path, running: Running) -> None:
    """Each list approves of the entry that replaces it, over HTTP; the reader takes the log with the approvals that are published."""
    old, new = (SigningKey(bytes([number]) * 32) for number in (21, 22))

    def named(key: SigningKey) -> dict[str, Any]:
        return {"threshold": 1, "witnesses": [{"id": f"did:key:{public(key)}"}]}

    asked = {"method": "webvh", "keyType": "Ed25519", "options": {"witness": named(old)}}
    made = Stranger(running.wire, API_KEY).create(asked).json
    hana = Holder(running.wire, made["did"], signing_key(made["keys"]["authentication"]["privateKey"]), None, made)
    assert hana.act("update", {"operation": "setWitness", "witness": named(new)}).status == 200
    assert hana.act("update", service("mine")).status == 200
    versions = [json.loads(line)["versionId"] for line in hana.log().splitlines()]

    def resolve() -> Any:
        command = [shutil.which("node") or "node", "read.mjs"]
        said = json.dumps({"did": hana.did, "host": HOST, "url": running.wire.url, "logs": {}})
        done = subprocess.run(command, cwd=reader, input=said, capture_output=True, text=True, check=True, timeout=120)
        told = json.loads(done.stdout)
        assert told["asked"][-1].endswith("/did-witness.json") or "error" in told["found"], told
        return told["found"]

    assert "error" in resolve()
    for number, key in ((2, old), (3, new)):
        body = {"versionId": versions[number - 1], "proof": witness_proof(versions[number - 1], key)}
        assert running.wire.call("POST", hana.path() + "/approvals", json.dumps(body).encode()).status == 200
        assert resolve()["versionId"] == versions[number - 1]
