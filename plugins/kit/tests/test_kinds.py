"""Each kind of plugin, from the command to a served request: made, built, installed, its own tests run, chosen, called."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from identity_commands.local_server import LocalServer

from identity_core.cli import main
from plugins.kit.tests.environment import Environment
from tests.servers import local_server

NAME = "tape"
MOST_LINES = 60
Made = tuple[Path, Environment]


@pytest.fixture
def make(tools: None, tmp_path: Path) -> Callable[[str, str], Made]:
    """Makes a plugin as an author does, installs its wheel beside the core, and runs its own tests there."""

    def make_plugin(kind: str, distribution: str) -> Made:
        answer = CliRunner().invoke(main, ["plugins", "new", "--kind", kind, "--into", str(tmp_path), NAME])
        assert answer.exit_code == 0, answer.output
        project = tmp_path / distribution
        assert f"Made {project}" in answer.output
        _check_the_page(project, distribution.replace("-", "_"))
        environment = Environment.fresh(tmp_path / "environment")
        environment.install(project)
        # The installed package is tested, not the folder that it was built from.
        own_tests = f"import sys, pytest, {distribution.replace('-', '_')} as made; print(made.__file__); "
        own_tests += "sys.exit(pytest.main(sys.argv[1:]))"
        told = environment.run(
            "-c", own_tests, "-q", "-p", "no:cacheprovider", "-c", f"{project}/pyproject.toml", str(project)
        )
        assert Path(told.splitlines()[0]).is_relative_to(environment.folder), told
        assert re.search(r"^\d+ passed", told, re.MULTILINE), told
        # identity-keys-tape brings `identity keys tape`.
        brought = environment.identity(*distribution.split("-")[1:], "about")
        assert brought == {"version": "0.1.0", "dataDir": "identity-data"}
        return project, environment

    return make_plugin


def _check_the_page(project: Path, module: str) -> None:
    """The author's code is short, nothing of the template is left over, and the README says what to change."""
    lines = [line for line in (project / module / "__init__.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
    assert (project / module / "py.typed").exists()
    assert "Apache-2.0" in (project / "LICENSE").read_text()
    assert "## What to change" in (project / "README.md").read_text()
    for path in project.rglob("*"):
        assert "{" not in path.name
        assert not path.is_file() or not re.search(r"\{\{|\{%|\.jinja", path.read_text()), path


@contextmanager
def served(environment: Environment, settings: Mapping[str, str], *options: str) -> Iterator[LocalServer]:
    """A server that finds the plugin where it is installed, before everything else."""
    with local_server(*options, environment=settings, path=environment.packages) as server:
        yield server


def create(server: LocalServer, method: str = "ids", *, key: str | None = None, **options: Any) -> httpx.Response:
    """``createDid``, with the operator's key or another one."""
    headers = {"X-API-Key": key or server.api_key}
    body = {"method": method, "options": options}
    return httpx.post(f"{server.url}/api/v1/dids", json=body, headers=headers, timeout=60, trust_env=False)


def states(environment: Environment, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what ``identity plugins check`` reports of the plugin, by hook; there must be no problem."""
    check = environment.identity("plugins", "check", settings=settings)
    assert check["problems"] == []
    return {row["hook"]: row["state"] for row in check["plugins"] if row["name"] == NAME}


def test_a_did_method(make: Callable[[str, str], Made]) -> None:
    _, environment = make("did-method", "identity-did-tape")
    settings = {"IDENTITY_DID_METHOD": NAME}
    assert states(environment, settings) == {"identity_provide_did_method": "active"}
    with served(environment, settings) as server:
        answer = create(server, NAME)
        assert answer.status_code == 201, answer.text
        did = answer.json()["did"]
        assert did.startswith("did:tape:")
        resolved = httpx.get(f"{server.url}/api/v1/dids/{did}", timeout=60, trust_env=False)
        assert resolved.status_code == 200
        # The rule that is the method's own is the one that is applied.
        nine = [{"type": "A", "serviceEndpoint": f"https://a.example/{n}"} for n in range(9)]
        refused = create(server, NAME, serviceEndpoints=nine)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "INVALID_DOCUMENT")


@pytest.mark.nightly
def test_a_ledger(make: Callable[[str, str], Made]) -> None:
    _, environment = make("ledger", "identity-ledger-tape")
    settings = {"IDENTITY_LEDGER_BACKEND": NAME}
    assert states(environment, settings) == {"identity_provide_ledger_backend": "active"}
    with served(environment, settings) as server:
        answer = create(server)
        assert answer.status_code == 201, answer.text
        did = answer.json()["did"]
        log = httpx.get(f"{server.url}/api/v1/dids/{did}/log", timeout=60, trust_env=False)
        # The hash is the one that this ledger makes of the first line, and no other ledger was opened.
        said = f"1\n{did}\n".encode() + log.content.rstrip(b"\n")
        assert answer.json()["transactionHash"].removeprefix("0x") == hashlib.sha256(said).hexdigest()
        assert not (server.data_dir / "ledger.sqlite").exists()


@pytest.mark.nightly
def test_a_key_store(make: Callable[[str, str], Made]) -> None:
    _, environment = make("key-store", "identity-keys-tape")
    key = "a key that only the plugin's store knows"
    settings = {
        "IDENTITY_KEY_STORES": f"sql,{NAME}",
        "IDENTITY_PLUGINS_TAPE_DIGESTS": hashlib.sha256(key.encode()).hexdigest(),
    }
    assert states(environment, settings) == {"identity_provide_key_store": "active"}
    with served(environment, settings) as server:
        assert create(server, key=key).status_code == 201
        assert create(server, key=key + "?").status_code == 401
        # It may do what its scopes say and no more: it is not an administrator.
        listed = httpx.get(
            f"{server.url}/api/v1/admin/api-keys", headers={"X-API-Key": key}, timeout=60, trust_env=False
        )
        assert listed.status_code == 403


@pytest.mark.nightly
def test_a_custodian(make: Callable[[str, str], Made]) -> None:
    _, environment = make("custodian", "identity-custodian-tape")
    settings = {"IDENTITY_CUSTODIAN_BACKEND": NAME}
    assert states(environment, settings) == {"identity_provide_custodian": "active"}
    with served(environment, settings) as server:
        answer = create(server, storeSecrets=True)
        assert answer.status_code == 201, answer.text
        assert not (server.data_dir / "custodian.sqlite").exists()


@pytest.mark.nightly
def test_a_securing_format(make: Callable[[str, str], Made]) -> None:
    _, environment = make("securing", "identity-securing-tape")
    assert states(environment, {}) == {"identity_provide_securing": "active"}


@pytest.mark.nightly
def test_a_panel(make: Callable[[str, str], Made]) -> None:
    _, environment = make("panel", "identity-panel-tape")
    settings = {"IDENTITY_PLUGINS_TAPE_HEADING": "What is <b>there</b>"}
    assert states(environment, settings) == {"identity_provide_panel": "active"}
    with served(environment, settings) as server, httpx.Client(base_url=server.url, timeout=60, trust_env=False) as own:
        own.headers["Sec-Fetch-Site"] = "same-origin"
        assert own.post("/ui/operator/session", data={"key": server.api_key}).status_code == 303
        page = own.get("/ui/operator/plugins?show=panels").text
        assert "<h2>What is &lt;b&gt;there&lt;/b&gt;</h2>" in page
        assert "<td>identity.sqlite</td>" in page


def test_a_prover(make: Callable[[str, str], Made]) -> None:
    project, environment = make("prover", "identity-prover-tape")
    settings = {"IDENTITY_PROVER_BACKEND": NAME}
    assert states(environment, settings) == {"identity_provide_prover": "active"}
    script = Path(__file__).with_name("prove_through_the_port.py")
    told = environment.run(str(script), settings=settings)
    assert told.splitlines()[-1] == "tape-toy-1 2", told
    for page in (project / "README.md", project / "identity_prover_tape" / "__init__.py"):
        assert "hides nothing" in page.read_text().lower()
    assert "hides nothing" in told, "it says so at start-up too"
    with served(environment, settings) as server:
        story, key = ["demo", "--url", server.url], {"IDENTITY_API_KEY": server.api_key}
        assert "PREDICATE_NOT_SATISFIED" in str(environment.identity(*story, settings={**settings, **key}))
        headers = {"X-API-Key": server.api_key}
        counted = httpx.get(f"{server.url}/metrics", headers=headers, timeout=60, trust_env=False).text
    calls = re.search(r'^identity_plugin_calls_total\{plugin="prover:tape"\} (\S+)', counted, re.MULTILINE)
    assert calls is not None
    assert float(calls[1]) >= 2, "the proofs of the story are its own"


def test_extension(make: Callable[[str, str], Made], tmp_path: Path) -> None:
    """An extension is made, served, observed, disabled and removed; nothing of the kernel changes."""
    project, environment = make("extension", "identity-tape")
    assert states(environment, {}) == {"identity_extend": "active"}
    # The template must not hide how much an extension needs.
    assert sum(len(path.read_text().splitlines()) for path in (project / "identity_tape").rglob("*.py")) <= 170
    (folder := tmp_path / "installation").mkdir()
    (config := folder / "identity.toml").write_text("")
    place = ("--config", str(config), "--data-dir", str(folder / "data"))
    with served(environment, {}, *place) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        http.headers["X-API-Key"] = server.api_key
        refused = http.post("/api/v1/tape/notes", json={"text": ""})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_REQUEST")
        stored = http.post("/api/v1/tape/notes", json={"text": "a note"})
        assert stored.status_code == 201, stored.text
        assert "<p>1 notes are stored." in http.get("/tape").text
        assert re.search(r"^identity_tape_notes_total 1\.0$", http.get("/metrics").text, re.MULTILINE)
        assert environment.identity("tape", "notes", *place) == {"notes": 1}
    with contextlib.closing(sqlite3.connect(folder / "data" / "identity.sqlite")) as database:
        assert database.execute("SELECT id, text FROM tape_notes").fetchall() == [(stored.json()["id"], "a note")]

    assert environment.identity("extensions", "disable", "tape", "--config", str(config))["on"] is False
    with served(environment, {}, *place) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        for answer in (http.post("/api/v1/tape/notes", json={"text": "a note"}), http.get("/tape")):
            details = answer.json()["error"]["details"]
            assert (answer.status_code, details["extension"]) == (404, "tape")
            assert "identity extensions enable tape" in details["remedy"]

    removed = environment.identity("extensions", "remove", "tape", "--purge", "--yes", *place)
    assert removed["dropped"] == ["tape_migrations", "tape_notes"]
    with contextlib.closing(sqlite3.connect(folder / "data" / "identity.sqlite")) as database:
        assert database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'tape%'").fetchall() == []
