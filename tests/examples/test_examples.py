"""The examples, each run by its one command; and the curl commands, which are made of the document."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from examples import curl
from tests.ports import free_port
from tests.reference import DOCUMENT
from tests.servers import local_server

EXAMPLES = Path(curl.__file__).parent
NODE, GO = "node", "go"


@pytest.fixture(scope="module")
def service() -> Iterator[dict[str, str]]:
    with local_server() as server:
        yield {"IDENTITY_URL": server.url, "IDENTITY_API_KEY": server.api_key}


def run(name: str, service: dict[str, str], *needed: str) -> list[list[str]]:
    """Return the words of each line that the example prints."""
    for program in needed:
        if shutil.which(program) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{program} is not installed")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | service | {"SHOP_PORT": str(free_port()), "PATH": path}
    command = [sys.executable, str(EXAMPLES / "run.py"), name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["agent_http", "agent_mcp"])
def test_an_agent_gets_a_proof(service: dict[str, str], name: str) -> None:
    assert run(name, service) == [["valid"]]


@pytest.mark.nightly
def test_a_back_office_lists_credentials_by_status(service: dict[str, str]) -> None:
    lines = run("issuer_back_office", service)
    assert [(line[0], len(line)) for line in lines] == [("active", 2), ("suspended", 2), ("revoked", 2)]
    assert len({line[1] for line in lines}) == 3


def check_visits(lines: list[list[str]]) -> None:
    visits = {line[0]: line for line in lines if line[0] in ("adult", "again", "minor")}
    assert visits["adult"][1] == "200"
    assert visits["again"][1] == "403"
    assert visits["minor"][1:] == ["422", "PREDICATE_NOT_SATISFIED"]


@pytest.mark.nightly
def test_the_flask_shop_admits_an_adult_once(service: dict[str, str]) -> None:
    pytest.importorskip("flask", reason="tox -e examples installs it")
    check_visits(run("shop_flask", service))


@pytest.mark.nightly
def test_the_express_shop_admits_an_adult_once(service: dict[str, str]) -> None:
    if shutil.which("npm") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("npm is not installed")
    shop = EXAMPLES / "shop_express"
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", shop], check=True, capture_output=True)
    check_visits(run("shop_express", service, NODE))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "program", "first"),
    [("offline_python", None, "valid:"), ("offline_typescript", NODE, "valid"), ("offline_go", GO, "genuine")],
)
def test_an_offline_verifier_accepts(service: dict[str, str], name: str, program: str | None, first: str) -> None:
    assert run(name, service, *filter(None, [program]))[0][0] == first


def test_every_example_is_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text()
    names = [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")]
    printed = subprocess.run([sys.executable, EXAMPLES / "run.py"], capture_output=True, text=True)
    assert printed.returncode == 2
    assert printed.stderr.strip().endswith(f"{{{','.join(sorted(names, key=printed.stderr.index))}}}")
    assert len(names) == 8


def test_curl_has_a_command_for_every_operation() -> None:
    operations = [one["operationId"] for item in DOCUMENT["paths"].values() for one in item.values()]
    found = dict(curl.commands(DOCUMENT))
    assert list(found) == operations
    for command in found.values():
        words = shlex.split(command.replace("\\\n", " "))
        assert words[:3] == ["curl", "-sS", "--fail-with-body"]
        assert "{" not in next(word for word in words if word.startswith("$IDENTITY_URL"))
        if "-d" in words:
            json.loads(words[words.index("-d") + 1])


def test_curl_commands_of_public_operations_are_answered(service: dict[str, str]) -> None:
    """The path of each command is one of the service: 404 has the code of a missing resource, not of an unknown path."""
    with httpx.Client(base_url=service["IDENTITY_URL"]) as http:
        for operation_id, command in curl.commands(DOCUMENT):
            words = shlex.split(command.replace("\\\n", " "))
            if "-X" in words or "-H" in words:
                continue
            path = next(word for word in words if word.startswith("$IDENTITY_URL")).removeprefix("$IDENTITY_URL")
            answer = http.get(path)
            code = answer.json()["error"]["code"] if answer.status_code == 404 else ""
            assert code != "NOT_FOUND", (operation_id, urlsplit(path).path)
