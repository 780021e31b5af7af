"""Clients of the DIF Universal Resolver, told our address and nothing else: Veramo's driver and ``did-resolver`` (npm), ACA-Py; and did-io
(npm) of Digital Bazaar with a driver that fetches from there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.attack.stranger import LEAVE
from tests.client.resolvers.conftest import HERE, holder, with_service
from tests.fault.service_process import Running

DOCUMENT = {"Accept": "application/did+ld+json"}
UNREGISTERED = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
W3C = "https://www.w3.org/ns/did#"


def resolved(packages: Path, running: Running, *dids: str) -> dict[str, Any]:
    return run_script(
        packages, running, "resolve.mjs", {"dids": dids, "methods": sorted({did.split(":")[1] for did in dids})}
    )


def run_script(packages: Path, running: Running, script: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What a script says when it is told where the service is."""
    done = subprocess.run(
        ["node", script],
        cwd=packages,
        input=json.dumps({"url": f"{running.wire.url}/1.0/identifiers/", **asked}),
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_they_resolve_every_method(packages: Path, running: Running) -> None:
    dids = [with_service(running, "ids").did, with_service(running, "webvh").did, UNREGISTERED]
    for did, answers in resolved(packages, running, *dids).items():
        for result in answers.values():
            assert result["didDocument"]["id"] == did
            assert "error" not in result["didResolutionMetadata"]
            assert result["didDocumentMetadata"]["versionId"] == ("1" if did == UNREGISTERED else "2")


def test_they_are_told_why_not(packages: Path, running: Running) -> None:
    gone = holder(running, "ids")
    assert gone.act("deactivate", LEAVE).status == 200
    unknown = "did:ids:Qm" + "a" * 44
    answers = resolved(packages, running, gone.did, unknown, "did:absent:1")
    assert answers[gone.did]["driver"]["didDocumentMetadata"]["deactivated"] is True
    for did, kind in ((unknown, "NOT_FOUND"), ("did:absent:1", "METHOD_NOT_SUPPORTED")):
        for result in answers[did].values():
            assert result["didDocument"] is None
            assert result["didResolutionMetadata"]["error"]["type"] == W3C + kind


def test_an_agent_of_aca_py_resolves(aca_py: Path, running: Running) -> None:
    """It asks which DIDs are supported. Those with a port it cannot ask for anywhere: its HTTP client takes the escape out of the path."""
    dids = [with_service(running, "ids").did, UNREGISTERED]
    unknown, unsupported = "did:ids:Qm" + "a" * 44, "did:absent:1"
    done = subprocess.run(
        [sys.executable, str(HERE / "aca_py.py")],
        input=json.dumps({"url": f"{running.wire.url}/1.0", "dids": [*dids, unknown, unsupported]}),
        env=os.environ | {"PYTHONPATH": str(aca_py)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found.pop(unknown), found.pop(unsupported)) == ("DIDNotFound", "DIDMethodNotSupported")
    assert {did: document["id"] for did, document in found.items()} == {did: did for did in dids}


@pytest.mark.parametrize("method", ["ids", "webvh"])
def test_did_io_finds_a_key_and_verifies_with_it(packages: Path, running: Running, method: str) -> None:
    hana, message = with_service(running, method), b"a message of Hana"
    signature = hana.key.sign(message).signature
    asked = {"method": method, "did": hana.did, "keyId": hana.key_id, "key": UNREGISTERED}
    found = run_script(
        packages, running, "did_io.mjs", asked | {"message": message.hex(), "signature": signature.hex()}
    )
    assert found["document"]["id"] == hana.did
    assert found["method"]["id"] == hana.key_id
    assert found["found"] == found["method"]
    assert (found["verified"], found["forged"]) == (True, False)
    # Its own driver of did:key makes what the service shows; it writes the derived key where it is used.
    own, shown = found["local"], running.wire.call("GET", f"/1.0/identifiers/{UNREGISTERED}", None, DOCUMENT).json
    (derived,) = own.pop("keyAgreement")
    assert shown.pop("controller") == UNREGISTERED
    assert shown.pop("keyAgreement") == [derived["id"]]
    own["verificationMethod"].append(derived)
    assert own == shown
