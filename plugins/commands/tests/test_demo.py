"""identity demo: the story comes out as promised, every request can be seen, and no secret shows."""

from __future__ import annotations

import json
import os
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from identity_commands.demo import bound, place
from identity_commands.demo.story import Story
from identity_commands.local_server import LocalServer, local_server

from identity_client import ServiceError, Session
from tests import servers
from tests.anvil_server import anvil_program
from tests.unit.cli.conftest import Commands

__all__ = ["anvil_program"]

# A secret multikey is longer than what is shown of it; so is a token.
SECRET = re.compile("z(3u2|3we|488)[1-9A-Za-z]{20,}|eyJhbGciOiJFZERTQSIs")


def tell(server: LocalServer, *options: str) -> str:
    return Commands({"IDENTITY_API_KEY": server.api_key}).ok("demo", "--url", server.url, *options)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of the story's own is forked, and has the deadlines of the tests. One test starts it."""

    def patient(*, environment: dict[str, str]) -> AbstractContextManager[LocalServer]:
        return local_server(environment=servers.PATIENT | environment, popen=servers.popen)

    monkeypatch.setattr(place, "local_server", patient)


@pytest.fixture(scope="module")
def verbose_output(server: LocalServer) -> str:
    """The story with every request, told once."""
    return tell(server, "--show")


@pytest.fixture(scope="module")
def json_output(server: LocalServer) -> Any:
    """The story as JSON, told once."""
    return json.loads(tell(server, "--json"))


def test_the_story(remote: Commands, server: LocalServer) -> None:
    result = remote("demo", "--url", server.url)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1].endswith("all as promised.")
    for code in (
        "401 AUTH_FAILED", "404 CREDENTIAL_NOT_FOUND", "403 IBCT_REPLAYED", "403 IBCT_INVALID",
        "422 PREDICATE_NOT_SATISFIED", "403 DELEGATION_SUSPENDED", "410 DELEGATION_REVOKED", "410 CREDENTIAL_REVOKED",
        "410 DID_DEACTIVATED",
    ):  # fmt: skip
        assert f"refused: {code}" in result.stdout
    for verdict in ("verified, 14 checks", "CHALLENGE_SPENT", "DOMAIN_MISMATCH", "PROOF_INVALID", "PROOF_REVOKED"):
        assert verdict in result.stdout
    assert SECRET.search(result.stdout) is None


def test_every_request_can_be_seen(verbose_output: str) -> None:
    assert "     > POST /api/v1/dids\n" in verbose_output
    assert re.search(
        r"> GET /api/v1/auth/challenge\?did=did%3Aids%3A\w+&bodyHash=\S+&purpose=update&target=", verbose_output
    )
    assert re.search(r'> PATCH /api/v1/dids/\S+\n       \{\n         "operation": "addService"', verbose_output)
    assert re.search(r'> POST /api/v1/zkp/delegated-proofs\n       \{\n         "holderDid"', verbose_output)
    assert '"privateKey": "z3u2…"' in verbose_output
    assert '"access_token": "eyJh…"' in verbose_output
    assert re.search(r'"proof": "[\w-]{80}… \([\d,]+ characters\)"', verbose_output)
    assert SECRET.search(verbose_output) is None
    assert re.search(r"     < 410  \(\d+ ms\)", verbose_output)


def test_a_step_at_home_shows_what_it_made(verbose_output: str) -> None:
    assert re.search(
        r"signs a token.*\n     zkp\.prove\.age\.gte\.18, .*\n       \{\n         \"id\": \"urn:uuid:", verbose_output
    )


def test_as_json(json_output: Any, server: LocalServer) -> None:
    whole = json.loads(tell(server, "--show", "--json"))
    assert whole["url"] == server.url
    chapters = {step["chapter"] for step in whole["steps"]}
    assert len(chapters) == 10
    created = whole["steps"][0]
    assert created["exchanges"][0]["method"] == "POST"
    assert created["exchanges"][0]["status"] == 201
    assert created["answer"]["keys"]["authentication"]["privateKey"] == "z3u2…"
    assert "exchanges" not in json_output["steps"][0]


def test_a_revoked_credential_has_no_proof_tomorrow(json_output: Any) -> None:
    """The verifier has the issuer's log and the proof, and no service: what it says is the same while the service is away."""
    shows = [step["shows"] for step in json_output["steps"] if step["chapter"] == "Bound, and revoked"]
    assert shows[0].endswith("active, suite 2")
    said = "valid; the proof itself says holder, credentialValidity, credentialStatus"
    assert shows[3:] == [
        said,
        ANY,
        "refused: 410 CREDENTIAL_REVOKED",
        said,
        "refused: time PROOF_EXPIRED: It has expired.",
    ]
    assert shows[4].endswith(", revoked")


@pytest.mark.parametrize(("code", "is_told"), [("INVALID_CREDENTIAL", True), ("FORBIDDEN", False)])
def test_service_without_suite_2_ends_with_refusal(code: str, is_told: bool) -> None:
    def ask(*_: Any) -> None:
        raise ServiceError(422, code, "no", {})

    story = Story([], is_quiet=True, is_shown=False)
    people: Any = SimpleNamespace(ivo=SimpleNamespace(ask=ask), aki=SimpleNamespace(ask=ask), statement={})
    with nullcontext() if is_told else pytest.raises(SystemExit):
        bound.revoked(story, people)
    assert [step["shows"] for step in story.steps] == [f"not at this service: refused: 422 {code}"]


def test_the_receipt_of_an_anchor_is_shown_where_there_is_one(json_output: Any) -> None:
    asked = next(step for step in json_output["steps"] if step["chapter"] == "A proof, obtained by the agent")
    if json_output["anchoring"]:
        assert "anchor confirmed in block" in asked["shows"] or "anchor pending" in asked["shows"]
    else:
        assert asked["shows"].endswith("501 ANCHORING_DISABLED")


def test_without_a_service_or_a_key(identity: Commands, server: LocalServer) -> None:
    assert "does not answer" in identity("demo", "--url", "http://127.0.0.1:1").stderr
    result = identity("demo", "--url", server.url)
    assert result.exit_code == 1
    assert "AUTH_REQUIRED" in result.stderr.splitlines()[0]


def test_a_running_service_has_its_ledger(identity: Commands, server: LocalServer) -> None:
    lines = identity.refused("demo", "--url", server.url, "--ledger", "memory", status=2)
    assert "--ledger" in lines[0]


def test_a_ledger_of_a_chain_needs_a_chain(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    lines = identity.refused("demo", "--ledger", "evm")
    assert lines[0] == "error: there is no chain"
    assert "anvil" in lines[2]


@pytest.mark.nightly
def test_a_server_of_its_own_on_the_ledger_in_memory(identity: Commands) -> None:
    assert "all as promised." in identity.ok("demo", "--ledger", "memory")


SECOND = """
from tests.transparent_prover import TransparentProver
from identity_core.plugin import Provider, hookimpl
@hookimpl
def identity_provide_prover():
    return Provider("second", lambda settings, context: TransparentProver())
"""


def test_environment_selects_one_of_two_provers(
    identity: Commands, here: Path, monkeypatch: pytest.MonkeyPatch, forked: None
) -> None:
    pytest.importorskip("identity_prover_bbs")
    (here / "second_prover.py").write_text(SECOND)
    distribution = here / "second_prover-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: second-prover\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text("[identity.plugins]\nsecond_prover = second_prover\n")
    monkeypatch.setenv("PYTHONPATH", f"{here}{os.pathsep}{Path(__file__).parents[3]}")
    lines = identity.refused("demo", "--ledger", "memory")
    assert "prover.backend must be set" in lines[0]
    assert "IDENTITY_PROVER_BACKEND" in lines[1]
    assert lines[2] == "  do: Choose one that is installed: bbs, second."
    # Settings that name data are not passed on: the story does not run in a user's database.
    chosen = Commands({"IDENTITY_PROVER_BACKEND": "bbs", "IDENTITY_DATABASE_URL": "postgresql://nowhere/x"})
    assert "all as promised." in chosen.ok("demo", "--ledger", "memory")


def test_a_chain_of_its_own(
    identity: Commands, anvil_program: Path, monkeypatch: pytest.MonkeyPatch, forked: None
) -> None:
    pytest.importorskip("eth_account")
    import os

    monkeypatch.setenv("PATH", os.pathsep.join((str(anvil_program.parent), os.environ["PATH"])))
    assert "all as promised." in identity.ok("demo", "--ledger", "evm")


def test_a_service_that_breaks_its_promise_is_found_out(
    remote: Commands, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "deactivate", lambda self, did, body, signer: {"blockNumber": 1})
    result = remote("demo", "--url", server.url)
    assert result.exit_code == 1
    assert "expected a refusal FORBIDDEN, got none" in result.stderr


def test_a_verdict_that_breaks_its_promise_is_found_out(
    remote: Commands, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Session.call

    def lying(self: Session, method: str, path: str, **more: object) -> object:
        answer = honest(self, method, path, **more)  # type: ignore[arg-type]
        return answer | {"verified": True, "warnings": []} if path.endswith("/verify") else answer

    monkeypatch.setattr(Session, "call", lying)
    result = remote("demo", "--url", server.url)
    assert result.exit_code == 1
    assert "that is not what was promised" in result.stderr
