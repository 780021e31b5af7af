"""The packages as they would be published: a wheel made from the sdist of the core and of each plugin, whole, and a service that runs where
nothing else of ours is installed."""

from __future__ import annotations

import email
import json
import os
import re
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import local_server

from features.specification.dids import build_request
from features.specification.plain_client import PlainClient, did_path
from features.specification.proofs import build_proof_request, create_parties
from features.specification.story import PlainStory
from tests.once import once

ROOT = Path(__file__).parents[3]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("p*/*/pyproject.toml"))]
BUILD = Path(__file__).with_name("build_all.py")


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def plugins() -> set[str]:
    """The names of those that the service loads."""
    found = map(project, PROJECTS)
    return {one["name"] for one in found if "identity.plugins" in one.get("entry-points", {})}


SERVICE = project(ROOT / "packages" / "identity_service")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        done = subprocess.run([sys.executable, BUILD, folder, *PROJECTS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    return once(tmp_path_factory, "packages", make)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tests' environment has of other authors, and nothing of ours."""

    def make(folder: Path) -> None:
        for place in map(Path, site.getsitepackages()):
            for path in place.iterdir():
                if not path.name.startswith(("identity_", "__editable__")):
                    (folder / path.name).symlink_to(path)

    return once(tmp_path_factory, "packages-of-others", make)


@dataclass(frozen=True)
class Empty:
    """An environment in which nothing of ours is installed but what a test installs."""

    folder: Path
    variables: dict[str, str]

    def ran(self, program: str, *arguments: str | Path) -> str:
        """What the program of the environment prints. It must succeed."""
        command = [self.folder / "bin" / program, *arguments]
        done = subprocess.run(
            command, env=self.variables, cwd=self.folder, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
        return done.stdout

    def install(self, *names: str | Path) -> None:
        """By pip, which takes ours from the folder of packages and what they require from what is there; anything else fails."""
        pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-index", "--no-build-isolation")
        self.ran("python", *pip, "--no-compile", *names)

    def distributions(self) -> set[str]:
        """Ours, by name."""
        asked = "import importlib.metadata as m; print(*(one.name for one in m.distributions(path=[{!r}])))"
        (own,) = self.folder.glob("lib/python*/site-packages")
        return set(self.ran("python", "-P", "-c", asked.format(str(own))).split())


@pytest.fixture
def empty(others: Path, tmp_path: Path) -> Empty:
    folder = tmp_path / "environment"
    venv.EnvBuilder(symlinks=True).create(folder)
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "others.pth").write_text(f"{others}\n")
    dropped = ("IDENTITY_", "API_KEY", "PYTHONPATH", "PIP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return Empty(folder, kept | {"HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull})


def test_there_is_an_sdist_and_a_wheel_of_each(wheels: Path) -> None:
    names = {str(project(folder)["name"]).replace("-", "_") for folder in PROJECTS}
    for ending in ("-1.0.0.tar.gz", "-1.0.0-py3-none-any.whl"):
        assert {path.name.removesuffix(ending) for path in wheels.glob(f"*{ending}")} == names


def test_nothing_is_left_out_of_a_wheel(wheels: Path) -> None:
    """Each file beside the code is in it: the document, the steps of the database, the templates of plugins, the pages."""
    missing = []
    for folder in PROJECTS:
        name = str(project(folder)["name"]).replace("-", "_")
        with zipfile.ZipFile(next(wheels.glob(f"{name}-*.whl"))) as archive:
            packed = set(archive.namelist())
        for package in folder.glob("identity_*"):
            if package.is_dir() and not package.name.endswith(".egg-info"):
                files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
                missing += [str(path) for path in files if path.relative_to(folder).as_posix() not in packed]
    assert missing == []


def test_a_wheel_has_a_licence_a_page_and_no_test(wheels: Path) -> None:
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
            metadata = email.message_from_bytes(archive.read(name))
            assert (metadata["License-Expression"], bool(metadata.get_payload())) == ("Apache-2.0", True), wheel.name
            assert not [one for one in archive.namelist() if one.split("/")[0] in ("tests", "features", "openapi")]


def test_all_names_every_plugin_that_needs_no_device() -> None:
    """The extensions that are on by default are installed with the service, so ``all`` does not repeat them."""
    needed = {re.split(r"[\[>=]", each)[0] for each in SERVICE["dependencies"]} & plugins()
    defaults = (
        "anchoring",
        "consents",
        "oauth",
        "observability",
        "operations",
        "records",
        "transparency",
        "ui",
        "universal",
    )
    assert needed == {f"identity-{name}" for name in defaults}
    wanted = {re.split(r"[\[>]", each)[0] for each in SERVICE["optional-dependencies"]["all"]}
    assert needed.isdisjoint(wanted)
    left_out = {"identity-custodian-pkcs11", "identity-ledger-memory"}
    assert wanted | needed == plugins() - left_out | {SERVICE["name"]}


def test_the_readme_names_each_extra_and_no_other() -> None:
    table = (ROOT / "README.md").read_text().split("| extra |")[1].split("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(SERVICE["optional-dependencies"])


def test_one_name_installs_a_service_that_proves(wheels: Path, empty: Empty) -> None:
    """What a user does after `pip install 'identity-service[all]'`; then the plugins that it leaves out, one from its sdist: the
    wheels are made of sdists too."""
    everything = {str(project(folder)["name"]) for folder in PROJECTS}
    assert empty.distributions() == set()
    empty.install("--find-links", wheels, "identity-service[all]")
    by_name = empty.distributions()
    assert by_name == everything - {"identity-custodian-pkcs11", "identity-ledger-memory", "identity-mcp"}
    assert empty.ran("identity", "--version") == "identity, version 1.0.0\n"
    looked = json.loads(empty.ran("identity", "doctor", "--json"))
    assert looked["healthy"], looked
    # The whole story: a service, its prover in a process, every plugin of the embedded default.
    told = json.loads(empty.ran("identity", "demo", "--json"))
    assert any("proof" in step["step"] for step in told["steps"])

    sdist = next(wheels.glob("identity_ledger_memory-*.tar.gz"))
    empty.install("--find-links", wheels, sdist, *sorted(everything - by_name - {"identity-ledger-memory"}))
    assert empty.distributions() == everything
    empty.ran("python", "-m", "pip", "check")
    listed = {row["distribution"] for row in json.loads(empty.ran("identity", "plugins", "list", "--json"))}
    assert plugins() <= listed


def test_the_kernel_alone_serves_the_specification(wheels: Path, empty: Empty) -> None:
    """Only the plugins of the embedded default are beside it, and none of the extensions."""
    plugins_of_default = ["custodian-sealed", "did-ids", "keys-env", "keys-sql", "ledger-sql", "prover-bbs"]
    empty.install("--find-links", wheels, "identity-kernel", *(f"identity-{name}" for name in plugins_of_default))

    def start(command: list[str], env: dict[str, str], **named: Any) -> subprocess.Popen[bytes]:
        python = empty.folder / "bin" / "python"
        return subprocess.Popen([python, *command[1:]], env=empty.variables | env, cwd=empty.folder, **named)

    with local_server(popen=start) as server, httpx.Client(timeout=120) as http:
        assert http.get(f"{server.url}/version").json()["extensions"] == ""
        client = PlainClient(f"{server.url}/api/v1", server.api_key, http)
        parties = create_parties(client, 5)
        proof = client.request(
            "POST", "/zkp/delegated-proofs", build_proof_request(parties, "gte"), X_API_Key=client.api_key
        )
        assert proof.status_code == 201, proof.text
        for name, subject in (("update", parties.holder), ("rotate", parties.holder), ("deactivate", parties.agent)):
            changed = client.send_signed(*build_request(PlainStory(client, subject=subject), name), subject)
            assert changed.is_success, (name, changed.text)
        assert client.request("GET", did_path(parties.agent.did)).status_code == 410
