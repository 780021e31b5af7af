"""The lock files: exact, with hashes, and as the projects ask for them. `python -m tests.architecture.write_locks` writes them."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.write_locks import BESIDE

ROOT = Path(__file__).resolve().parents[2]
RUNS = {".": ("postgresql", "redis")}
TESTS = {
    ".": ("checks", "postgresql", "redis", "template", "test"),
    "packages/identity_bbs": ("blst",),
    "plugins/did_web": ("test",),
    "plugins/did_webvh": ("test",),
    "plugins/ledger_evm": ("test", "chain"),
}
FILES = [ROOT / "pyproject.toml", *sorted(ROOT.glob("p*/*/pyproject.toml"))]
PROJECTS = {file.parent.relative_to(ROOT).as_posix(): tomllib.loads(file.read_text())["project"] for file in FILES}
OURS = {project["name"] for project in PROJECTS.values()}


def locked(lock: str) -> dict[str, list[str]]:
    """Name → versions; a package may have one for each Python."""
    versions: dict[str, list[str]] = {}
    for entry in (ROOT / lock).read_text().replace("\\\n", " ").splitlines():
        pin = re.match(r"(\S+)==(\S+)", entry)
        assert pin, f"not an exact version: {entry[:80]}"
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}(?= |$)", entry)
        assert hashes, f"{pin[1]} has no hash"
        versions.setdefault(canonicalize_name(pin[1]), []).append(pin[2])
    return versions


@pytest.mark.parametrize(("lock", "extras"), [("requirements.lock", RUNS), ("tests/requirements.lock", TESTS)])
def test_a_lock_satisfies_what_the_projects_ask_for(lock: str, extras: dict[str, tuple[str, ...]]) -> None:
    versions = locked(lock)
    asked = 0
    for folder, project in PROJECTS.items():
        if lock == "requirements.lock" and folder in BESIDE:
            continue
        optional = project.get("optional-dependencies", {})
        wanted = [*project["dependencies"], *(one for extra in extras.get(folder, ()) for one in optional[extra])]
        for text in wanted:
            requirement = Requirement(text)
            if requirement.name in OURS or not (requirement.marker is None or requirement.marker.evaluate()):
                continue
            found = versions.get(canonicalize_name(requirement.name), [])
            assert any(version in requirement.specifier for version in found), f"{folder} asks for {text}: {found}"
            asked += 1
    assert asked > 20


def test_the_tests_run_with_what_a_server_runs_with() -> None:
    server, tests = locked("requirements.lock"), locked("tests/requirements.lock")
    assert {name: tests.get(name) for name in server} == server


def test_the_lock_names_no_index() -> None:
    for lock in ("requirements.lock", "tests/requirements.lock"):
        assert "://" not in (ROOT / lock).read_text()


@pytest.mark.parametrize("path", ["data/custodian.key", "identity-data/identity.sqlite", "hana.json", "api.key"])
def test_files_made_by_the_readme_are_ignored_by_git(path: str) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout")
    assert subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0
