"""Clients of the DIF Universal Resolver, told our address and nothing else: Veramo's driver and ``did-resolver`` (npm)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.attack.stranger import LEAVE
from tests.client.resolvers.conftest import holder, with_service
from tests.fault.service_process import Running

UNREGISTERED = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
W3C = "https://www.w3.org/ns/did#"


def resolved(packages: Path, running: Running, *dids: str) -> dict[str, Any]:
    asked = {
        "url": f"{running.wire.url}/1.0/identifiers/",
        "dids": dids,
        "methods": sorted({did.split(":")[1] for did in dids}),
    }
    done = subprocess.run(
        ["node", "resolve.mjs"],
        cwd=packages,
        input=json.dumps(asked),
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
    answers = resolved(packages, running, gone.did, unknown, "did:nobody:1")
    assert answers[gone.did]["driver"]["didDocumentMetadata"]["deactivated"] is True
    for did, kind in ((unknown, "NOT_FOUND"), ("did:nobody:1", "METHOD_NOT_SUPPORTED")):
        for result in answers[did].values():
            assert result["didDocument"] is None
            assert result["didResolutionMetadata"]["error"]["type"] == W3C + kind
