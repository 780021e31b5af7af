"""The packages as they would be published: a wheel made from the sdist of the core and of each plugin, whole, and a service that runs from
nothing else of ours."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.once import once

ROOT = Path(__file__).parents[3]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
BUILD = Path(__file__).with_name("build_all.py")


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def plugins() -> set[str]:
    """The names of those that the service loads."""
    found = map(project, PROJECTS)
    return {one["name"] for one in found if "identity.plugins" in one.get("entry-points", {})}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        done = subprocess.run([sys.executable, BUILD, folder, *PROJECTS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]

    return once(tmp_path_factory, "packages", make)


@pytest.fixture(scope="module")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our packages alone; what they depend on is that of the tests."""

    def make(folder: Path) -> None:
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)

    return once(tmp_path_factory, "installed-packages", make)


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
    wanted = {re.split(r"[\[>]", each)[0] for each in project(ROOT)["optional-dependencies"]["all"]}
    left_out = {"identity-custodian-pkcs11", "identity-ledger-memory"}
    assert wanted == plugins() - left_out | {project(ROOT)["name"]}


def test_a_service_runs_from_the_wheels(installed: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("IDENTITY_", "API_KEY"))}
    environment |= {"PYTHONPATH": str(installed), "API_KEY": "k" * 40}

    def ran(*arguments: str) -> Any:
        command = [sys.executable, "-P", "-m", "identity_core", *arguments, "--json"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    where = "import identity_core, identity_ledger_sql; print(identity_core.__file__, identity_ledger_sql.__file__)"
    told = subprocess.run(
        [sys.executable, "-P", "-c", where], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert told.stdout.count(str(installed)) == 2, "the tests' own packages are not looked at"
    listed = {row["distribution"] for row in ran("plugins", "list")}
    assert plugins() <= listed
    # The whole story: a service, its prover in a process, every plugin of the embedded default.
    assert ran("demo")
