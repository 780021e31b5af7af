"""The service as a resolver of others, and the JavaScript packages that ask it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.stranger import Holder, Stranger, service, signing_key
from tests.fault.service_process import API_KEY, Running
from tests.fault.service_process import service as running_service
from tests.made_once import once

HERE = Path(__file__).parent
STANDINS = {"vc-test-suite-implementations": "implementations.mjs", "mocha-w3c-interop-reporter": "reporter.mjs"}
# The last one for Python 3.11; its resolver is that of acapy-agent.
ACA_PY = "aries-cloudagent==0.12.8"
# A port, so that the DIDs have an escape in them.
HOST = "id.example:8443"
# Documents of did:key are those of other resolvers.
SETTINGS = {"IDENTITY_PLUGINS_WEBVH_HOST": HOST, "IDENTITY_PLUGINS_KEY_DERIVE_X25519": "true"}


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with ``node_modules``, as the lock file says, and the stand-ins for what no registry has."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        if os.environ.get("CI"):
            pytest.fail("node and npm are not installed")
        pytest.skip("node and npm are not installed")

    def install(folder: Path) -> None:
        scripts = ("resolve.mjs", "verify_token.mjs", "did_io.mjs", "sign_in.mjs", "sign_in_holder.mjs")
        for name in ("package.json", "package-lock.json", ".npmrc", *scripts):
            shutil.copy(HERE / name, folder)
        subprocess.run([npm, "ci"], cwd=folder, check=True, capture_output=True, timeout=300)
        for package, module in STANDINS.items():
            (folder / "node_modules" / package).mkdir()
            shutil.copy(HERE / "standins" / module, folder / "node_modules" / package / "index.mjs")
            manifest = '{"type":"module","exports":"./index.mjs"}'
            (folder / "node_modules" / package / "package.json").write_text(manifest)

    return once(tmp_path_factory, "resolvers", install)


@pytest.fixture(scope="session")
def aca_py(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with ACA-Py, without what its resolver does not need."""

    def install(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
        subprocess.run([*pip, "--target", str(folder), ACA_PY], check=True, capture_output=True, timeout=300)

    return once(tmp_path_factory, "aca_py", install)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("resolved") / "data"
    with running_service(folder, environment=SETTINGS) as started:
        yield started


def holder(running: Running, method: str) -> Holder:
    """A DID with keys that the service made."""
    asked = {"method": method, "keyType": "Ed25519", "options": {"recoveryKey": True}}
    answer = Stranger(running.wire, API_KEY).create(asked)
    assert answer.status == 201, answer.body
    made = answer.json
    keys = {name: signing_key(key["privateKey"]) for name, key in made["keys"].items()}
    return Holder(running.wire, made["did"], keys["authentication"], keys["recovery"], made)


def with_service(running: Running, method: str) -> Holder:
    """One whose second version has the service ``files``."""
    made = holder(running, method)
    assert made.act("update", service("files", "https://hana.example/files")).status == 200
    return made
