"""The Go client as a program has it, compiled without a network: its README, a whole life of a DID, what it signs, the logs that it checks,
and the answers of a server that means harm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from identity_client import ibct
from identity_codec.strict_json import JsonValue
from openapi import clients
from tests.client.go_application import HERE, first_screen, make_application
from tests.client.hostile_service import DID
from tests.client.package_cases import Json, PackageCases, Run, check_flow, check_story, offline_jobs
from tests.made_once import once
from tests.servers import local_server


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that uses the client, and that of the README, compiled. Without Go the tests skip, in CI they fail."""
    if shutil.which("go") is None and not os.environ.get("CI"):
        pytest.skip("Go is not installed")

    return once(tmp_path_factory, "go", make_application) / "app"


def run(program: Path, *arguments: str, said: str = "") -> str:
    done = subprocess.run([program, *arguments], input=said, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def do(application: Path) -> Run:
    """With as much of NFC as the cases need."""
    return lambda jobs: json.loads(run(application / "bin" / "jobs", "\ufb33", "\u05d3\u05bc", said=json.dumps(jobs)))


@pytest.fixture(scope="module")
def served() -> Iterator[LocalServer]:
    with local_server() as server:
        yield server


def test_it_is_the_same_octets_each_time(application: Path, tmp_path: Path) -> None:
    def sources(folder: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in folder.iterdir()}

    assert sources(clients.build_go_client(tmp_path)) == sources(application.parent / clients.GO_CLIENT)


def test_it_is_formatted_and_the_compiler_has_no_doubt(application: Path) -> None:
    package = application.parent / clients.GO_CLIENT
    formatted = subprocess.run(["gofmt", "-l", package, HERE], check=True, capture_output=True, text=True, timeout=300)
    assert formatted.stdout == ""
    assert clients.run_go(package, "vet", "./...") == ""
    needed = clients.run_go(package, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")
    assert needed.split() == ["identity-service-client"]


def test_the_readme_proves_something_in_15_lines(application: Path, served: LocalServer) -> None:
    """As it stands there, but for the address and the key; formatted as Go has it."""
    program = first_screen(application.parent / clients.GO_CLIENT)
    formatted = subprocess.run(["gofmt"], input=program, check=True, capture_output=True, text=True, timeout=300)
    assert formatted.stdout == program
    assert len(program.partition("func main() {\n")[2].removesuffix("}\n").splitlines()) <= 15
    assert run(application / "bin" / "first", served.url, served.api_key) == "true\n"


def test_a_did_lives(do: Run, served: LocalServer) -> None:
    check_flow(do({"it": {"kind": "flow", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


def test_jobs_survive_a_network_that_loses_answers(do: Run, served: LocalServer) -> None:
    check_story(do({"it": {"kind": "story", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


def test_a_text_is_pinned_where_it_is_in_nfc_for_certain(application: Path) -> None:
    """Of each character: nothing is joined with what stands before it, nor written as another."""
    told = json.loads(run(application / "bin" / "jobs", said='{"it":{"kind":"pinned"}}'))
    pinned = [chr(code) for code in told["it"]["value"]]
    assert {"a", "é", "ü", "Ω", "й", "日", "한", "ﬁ"} <= {*pinned}
    second = {
        parts[1]
        for code in range(0x12000)
        if len(parts := unicodedata.decomposition(chr(code)).split()) == 2 and not parts[0].startswith("<")
    }
    wrong = [
        one
        for one in pinned
        if not unicodedata.is_normalized("NFC", one) or unicodedata.combining(one) or f"{ord(one):04X}" in second
    ]
    assert wrong == []
    assert not {chr(code) for code in range(0x1160, 0x1200)} & {*pinned}, "Hangul joins"


# Values by the actions of a token.
ASKED: dict[str, list[JsonValue]] = {
    "zkp.prove.age.gte.18": [18],
    "zkp.prove.age.gte": [None],
    "zkp.prove.member%20of%2E.neq": ["x"],
    "zkp.prove.age.gte zkp.prove.%C3%A9t%C3%A9/a%2Bb.set_member": [18, [1, 2]],
}


NOT_ONE = ("zkp.prove.age.gte zkp.prove.country.eq", "zkp.prove.country.neq")


def token(action: str) -> dict[str, str]:
    made = {"id": "urn:uuid:1", "type": "InvocationBoundCapabilityToken", "invoker": DID, "target": DID[:-1] + "Q"}
    made |= {"action": action, "delegationRef": "urn:uuid:2", "nonce": "x", "issuedAt": "x", "expiresAt": "x"}
    return made | {"proofValue": "z"}


def proof_requests() -> Json:
    """With those that are refused."""
    asked = [(name, name, values) for name, values in ASKED.items()]
    asked += [("too few values", "zkp.prove.a.eq", []), ("too many values", "zkp.prove.a.eq", [1, 2])]
    asked += [("no predicate", "zkp.prove.a", [1]), ("no escape", "zkp.prove.%zz.eq", [1])]
    found = {
        name: {"kind": "presentation request", "value": token(action), "list": values} for name, action, values in asked
    }
    single = {
        f"one {name}": {"kind": "proof request", "value": token(name), "list": values}
        for name, values in ASKED.items()
        if len(values) == 1
    }
    refused = {name: {"kind": "proof request", "value": token(name), "list": [1]} for name in NOT_ONE}
    return found | single | refused


class TestPackage(PackageCases):
    """In Go."""

    @pytest.fixture(scope="class")
    @classmethod
    def signed(cls, do: Run) -> dict[str, Json]:
        # Bytes that are not text can be given to Go alone.
        return do(offline_jobs() | proof_requests() | {"no text": {"kind": "no text"}})

    @pytest.mark.parametrize("name", ASKED)
    def test_a_proof_is_asked_for_as_in_python(self, signed: dict[str, Json], name: str) -> None:
        expected = ibct.proof_request(token(name), "urn:uuid:credential", values=ASKED[name])
        if "predicate" in expected:
            single = {**expected, "predicate": {**expected["predicate"]}}
            if single["predicate"]["value"] is None:
                del single["predicate"]["value"]
            assert signed[f"one {name}"] == {"value": single}
            expected["predicates"] = [expected.pop("predicate")]
        for asked in expected["predicates"]:
            if asked["value"] is None:
                del asked["value"]
        assert signed[name] == {"value": expected}

    @pytest.mark.parametrize("name", ["too few values", "too many values", "no predicate", "no escape"])
    def test_a_proof_that_the_token_does_not_name_is_not_asked_for(self, signed: dict[str, Json], name: str) -> None:
        assert "error" in signed[name]

    @pytest.mark.parametrize("name", NOT_ONE)
    def test_proof_request_refuses_what_is_a_presentation(self, signed: dict[str, Json], name: str) -> None:
        assert "error" in signed[name]

    def test_invalid_text_is_not_signed(self, signed: dict[str, Json]) -> None:
        assert "UTF-8" in signed["no text"]["error"]["message"]
