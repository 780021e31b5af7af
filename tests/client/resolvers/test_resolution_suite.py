"""The W3C CCG's suite for DID Resolution (``did-resolution-mocha-test-suite``), live against the service.

The suite lies among the vectors. Its two dependencies that no registry has are stood in for: what lists implementations, and the reporter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.attack.stranger import LEAVE
from tests.client.resolvers.conftest import holder, with_service
from tests.fault.service_process import Running
from tests.vectors.files import vector

SUITE = "did-resolution-suite/tests/10-bindings.js"
UNREGISTERED = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
# What the suite has for a method with everything, and for one without versions, services and an end.
WHOLE, SHARE = 57, 29


@pytest.fixture
def suite(packages: Path, tmp_path: Path) -> Path:
    """A copy beside the packages, where its imports find them."""
    folder = tmp_path / "suite"
    shutil.copytree(vector(SUITE).parent, folder / "tests")
    (folder / "package.json").write_text('{"type":"module"}')
    (folder / "node_modules").symlink_to(packages / "node_modules")
    return folder


def results(suite: Path, running: Running, dids: dict[str, Any]) -> dict[str, Any]:
    """What mocha says, as JSON."""
    endpoint = f"{running.wire.url}/1.0/identifiers"
    settings = {"id": "x", "endpoint": endpoint, "tags": ["did-resolution"], "supportedDids": dids}
    implementation = suite / "implementation.json"
    implementation.write_text(json.dumps({"name": "identity", "didResolvers": [settings]}))
    mocha = suite / "node_modules" / "mocha" / "bin" / "mocha.js"
    words = ["node", str(mocha), "tests", "--timeout", "60000", "--reporter", "json"]
    environment = os.environ | {"IMPLEMENTATION": str(implementation)}
    done = subprocess.run(words, cwd=suite, env=environment, check=False, capture_output=True, text=True, timeout=300)
    assert done.stdout.lstrip().startswith("{"), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def failures(found: dict[str, Any]) -> list[str]:
    return [f"{each['fullTitle']}: {each['err'].get('message')}" for each in found["failures"]]


@pytest.mark.parametrize("method", ["ids", "webvh"])
def test_the_whole_suite(suite: Path, running: Running, method: str) -> None:
    hana, gone = with_service(running, method), holder(running, method)
    assert gone.act("deactivate", LEAVE).status == 200
    # Another hash at the same place.
    scid = hana.did.split(":")[2]
    unknown = hana.did.replace(scid, "Qm" + scid[:1:-1])
    dids = {
        "valid": [
            {"did": hana.did, "resolutionOptions": {}},
            {"did": hana.did, "resolutionOptions": {"versionId": "1"}},
        ],
        "notFound": unknown,
        "deactivated": gone.did,
        "derefUrls": [
            {"didUrl": hana.key_id},
            {"didUrl": hana.did, "dereferencingOptions": {"versionId": "1"}},
        ],
        "serviceDerefUrls": [{"didUrl": f"{hana.did}?service=files&relativeRef=%2Fx"}],
    }
    found = results(suite, running, dids)
    assert failures(found) == []
    assert (found["stats"]["passes"], found["stats"]["pending"]) == (WHOLE, 0)


def test_the_share_of_a_did_that_says_everything_itself(suite: Path, running: Running) -> None:
    found = results(suite, running, {"valid": [{"did": UNREGISTERED, "resolutionOptions": {}}]})
    assert failures(found) == []
    assert (found["stats"]["passes"], found["stats"]["pending"]) == (SHARE, 0)


def test_the_suite_finds_what_is_wrong(suite: Path, running: Running) -> None:
    """A DID that is there, called unknown and ended."""
    did = holder(running, "ids").did
    dids = {"valid": [{"did": did, "resolutionOptions": {}}], "notFound": did, "deactivated": did}
    assert len(failures(results(suite, running, dids))) == 2
