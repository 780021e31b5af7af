"""The packages as they would be published: a wheel made from the sdist of the core and of each plugin, whole, and a service that runs where
nothing else of ours is installed."""

from __future__ import annotations

import email
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from identity_core.extension.compose import operations
from tests.unit.deploy.packages import (
    PROJECTS,
    ROOT,
    SERVICE,
    Empty,
    plugins,
    project,
    run_the_story_of_the_specification,
)


def test_there_is_an_sdist_and_a_wheel_of_each(wheels: Path) -> None:
    names = {str(project(folder)["name"]).replace("-", "_") for folder in PROJECTS}
    for ending in ("-1.0.0.tar.gz", "-1.0.0-py3-none-any.whl"):
        assert {path.name.removesuffix(ending) for path in wheels.glob(f"*{ending}")} == names


def files_beside_code(folder: Path) -> list[str]:
    """Return the files of a project's packages: code, the document, the steps of the database, templates of plugins, pages."""
    packages = [path for path in folder.glob("identity_*") if path.is_dir() and path.suffix != ".egg-info"]
    files = (path for package in packages for path in package.rglob("*") if path.is_file())
    return [path.relative_to(folder).as_posix() for path in files if "__pycache__" not in path.parts]


def test_nothing_is_left_out_of_a_wheel(wheels: Path) -> None:
    missing = []
    for folder in PROJECTS:
        name = str(project(folder)["name"]).replace("-", "_")
        with zipfile.ZipFile(next(wheels.glob(f"{name}-*.whl"))) as archive:
            packed = set(archive.namelist())
        missing += [f"{folder.name}/{path}" for path in files_beside_code(folder) if path not in packed]
    assert missing == []


def test_every_file_beside_code_is_to_be_packed(tmp_path: Path) -> None:
    """The default run reads what setuptools would pack; the nightly run builds each wheel."""
    command = [sys.executable, Path(__file__).with_name("packed_files.py"), tmp_path, *PROJECTS]
    packed = {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()}
    files = {str(folder / path) for folder in PROJECTS for path in files_beside_code(folder)}
    assert len(files) > 1000
    assert files - packed == set()


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
        "api-keys",
        "bound-credentials",
        "consents",
        "isolation",
        "oauth",
        "observability",
        "operations",
        "records",
        "server-processes",
        "transparency",
        "ui",
        "universal",
        "verification",
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
    with empty.server() as server:
        looked = json.loads(empty.ran("identity", "doctor", "--json", "--data-dir", server.data_dir))
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
    with empty.server() as server, httpx.Client(timeout=120) as http:
        assert http.get(f"{server.url}/version").json()["extensions"] == ""
        run_the_story_of_the_specification(server, http)


def extensions() -> dict[str, str]:
    """Return the distribution of each extension, by the name of its plugin."""
    projects = (project(folder) for folder in PROJECTS)
    found = {one["name"]: one.get("entry-points", {}).get("identity.plugins", {}) for one in projects}
    return {name: each for each, entries in found.items() for name, at in entries.items() if at.endswith(".extension")}


def operation_ids(extension: str) -> set[str]:
    """Return those of the extension's part of the document."""
    (folder,) = (one for one in PROJECTS if project(one)["name"] == extensions()[extension])
    return {
        operation["operationId"]
        for part in folder.glob("identity_*/document.json")
        for *_, operation in operations(json.loads(part.read_text()))
    }


def sample(names: Iterable[str], default: set[str]) -> list[Any]:
    """Return the names as parameters; those that are not in ``default`` are for the nightly run."""
    found = sorted(names)
    assert default <= {*found}
    return [pytest.param(each, marks=() if each in default else pytest.mark.nightly) for each in found]


@pytest.mark.parametrize("deleted", sample(extensions(), {"consents", "records"}))
def test_service_starts_without_an_extension(wheels: Path, empty: Empty, deleted: str) -> None:
    """Each extension that imports it is off, with one line in the log, and everything else is served."""
    distribution = extensions()[deleted]
    empty.install("--find-links", wheels, "identity-service[all]")
    empty.uninstall(distribution)
    left = {one["name"]: one for one in map(project, PROJECTS) if one["name"] != distribution}
    dependent = {
        name
        for name, each in extensions().items()
        if each != deleted
        and any(re.match(rf"{distribution}\b", needed) for needed in left.get(each, {}).get("dependencies", ()))
    }
    # This imports all plugins, which takes longer the first time than a server may need.
    if deleted != "operations":  # It brings the command.
        listed = json.loads(empty.ran("identity", "extensions", "list", "--json"))
        assert deleted not in {row["name"] for row in listed}
    with empty.server() as server, httpx.Client(timeout=120) as http:
        on = http.get(f"{server.url}/version").json()["extensions"].split(", ")
        assert deleted not in on
        log = server.log.read_text()
        assert "Traceback" not in log, log
        module = distribution.replace("-", "_")
        # One whose commands alone import it is on.
        for name in dependent - {*on}:
            remedy = f"install its distribution, or name {name} in plugins.disabled"
            assert f"failed: it requires the module {module}, which is not installed; {remedy}" in log
        served = {one["operationId"] for *_, one in operations(http.get(f"{server.url}/openapi.json").json())}
        assert served.isdisjoint(operation_ids(deleted))
        assert served >= operation_ids(next(iter({"observability", "oauth"} - {deleted})))
        run_the_story_of_the_specification(server, http)
    assert "serve" in empty.ran("identity", "--help")


@pytest.mark.parametrize(
    "name",
    sample((str(project(folder)["name"]) for folder in PROJECTS), {"identity-kernel", "identity-bbs", "identity-ui"}),
)
def test_wheel_alone_imports_what_it_declares(wheels: Path, empty: Empty, name: str) -> None:
    """An editable install hides a dependency that is missing in ``pyproject.toml``."""
    # The modules of suite 2 need the extra.
    empty.install("--find-links", wheels, f"{name}[bound]" if name == "identity-prover-bbs" else name)
    program = (
        "import importlib, pkgutil, sys; package = importlib.import_module(sys.argv[1]); "
        "names = [one.name for one in pkgutil.walk_packages(getattr(package, '__path__', []), sys.argv[1] + '.')]; "
        "left_out = {'__main__', 'plugin_templates', 'tests', *sys.argv[2:]}; "
        "[importlib.import_module(one) for one in names if not left_out & {*one.split('.')}]; print(len(names))"
    )
    if name == "identity-kernel":
        # The old name ``identity_core.conformance`` needs the kit, which its error names.
        assert empty.ran("python", "-c", program, "identity_core", "conformance")
    elif name != "identity-service":
        assert empty.ran("python", "-c", program, name.replace("-", "_"))
