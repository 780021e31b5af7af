"""Messages of commands after a refusal: in the words of their options, and always with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from identity_commands.remote import explained, session

from identity_client import ChallengeRefused, ServiceError, ServiceUnreachable, Session
from identity_core.cli.output import refused_values
from tests.unit.cli.conftest import Commands


@pytest.mark.parametrize(
    ("details", "at"),
    [
        ({"types": ["X"], "supported": ["A", "B"], "remedy": "Choose from A, B."}, "types: X"),
        ({"remedies": ["a", "b"], "required": 3}, "required: 3"),
        ({"reason": "too long", "value": "(not shown)"}, "reason: too long"),
        ({"errors": [{"path": "/a", "message": "is not true"}, {"path": "/b"}]}, "errors: /a, is not true, /b"),
        ({}, ""),
    ],
)
def test_refused_values_repeat_no_remedy(details: dict[str, Any], at: str) -> None:
    assert refused_values(details) == at


@pytest.mark.parametrize(
    ("documented", "then"),
    [
        ({}, "see `identity --help`"),
        ({"docUrl": "/docs/guide/e.html#any"}, "see `identity --help`; more at http://a.example/docs/guide/e.html#any"),
        ({"docUrl": "https://elsewhere.example/"}, "see `identity --help`"),
        ({"docUrl": ["/docs"]}, "see `identity --help`"),
    ],
)
def test_explained_refusal_has_place_and_remedy(documented: dict[str, Any], then: str) -> None:
    error = ServiceError(400, "ANY", "Any.", {"requestId": "r-1", **documented})
    assert explained(error, "http://a.example/") == ("ANY: Any.", "http://a.example/, request r-1", then)


def test_refused_challenge_ends_a_command_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, session("http://a.example"):
        raise ChallengeRefused("the challenge is for another DID")
    assert ended.value.code == 1
    what, where, remedy = capsys.readouterr().err.splitlines()
    assert what == "error: nothing was signed: the challenge is for another DID"
    assert (where, "do not trust" in remedy) == ("  at: http://a.example", True)


def test_a_list_of_whose_names_its_options(remote: Commands) -> None:
    said = remote.refused("credential", "list")
    assert said[0].endswith("An API key says whose credentials it means: --holder or --issuer.")
    assert said[2].endswith("see `identity credential list --help`.")


def test_a_method_that_is_not_there(remote: Commands) -> None:
    said = remote.refused("did", "create", "--method", "nosuch", "--show-secrets")
    assert said[1].endswith("method: nosuch")
    assert said[2].startswith("  do: Choose from ids, jwk, key")


UUID = "0191b0a0-0000-7000-8000-000000000001"
ROWS: list[tuple[list[str], str, str, Any, dict[str, Any]]] = [
    (["did", "resolve", "did:x:y", "--version-id", "2"], "GET", "/dids/did%3Ax%3Ay", None, {"versionId": 2}),
    (["did", "history", "did:x:y", "--limit", "3"], "GET", "/dids/did%3Ax%3Ay/history", None, {"limit": 3}),
    (["ledger", "key"], "GET", "/ledger/key", None, {}),
    (["credential", "show", "urn:a/b"], "GET", "/credentials/urn:a%2Fb", None, {}),
    (
        ["credential", "list", "--holder", "did:x:y", "--cursor", "c"],
        "GET",
        "/credentials",
        None,
        {"holderDid": "did:x:y", "limit": 50, "cursor": "c"},
    ),
    (
        ["credential", "suspend", "urn:a", "--reason", "r"],
        "POST",
        "/credentials/urn:a/status",
        {"purpose": "suspension", "value": True, "reason": "r"},
        {},
    ),
    (
        ["credential", "resume", "urn:a"],
        "POST",
        "/credentials/urn:a/status",
        {"purpose": "suspension", "value": False},
        {},
    ),
    (
        ["credential", "revoke", "urn:a"],
        "POST",
        "/credentials/urn:a/status",
        {"purpose": "revocation", "value": True},
        {},
    ),
    (["credential", "schema", "get", "urn:s"], "GET", "/credential-schemas/urn:s", None, {}),
    (["credential", "schema", "list"], "GET", "/credential-schemas", None, {"limit": 50}),
    (["delegation", "show", f"urn:uuid:{UUID}"], "GET", f"/delegations/{UUID}", None, {}),
    (
        ["delegation", "list", "--agent", "did:x:y", "--status", "active"],
        "GET",
        "/delegations",
        None,
        {"agentDid": "did:x:y", "status": "active", "limit": 50},
    ),
    (["delegation", "suspend", UUID], "POST", f"/delegations/{UUID}/suspend", None, {}),
    (["delegation", "resume", UUID], "POST", f"/delegations/{UUID}/resume", None, {}),
    (["delegation", "revoke", UUID], "POST", f"/delegations/{UUID}/revoke", {}, {}),
    (
        ["ibct", "revoke", "--invoker", "did:x:y", "--nonce", "n"],
        "POST",
        "/ibcts/revoke",
        {"invoker": "did:x:y", "nonce": "n"},
        {},
    ),
    (["proof", "get", UUID], "GET", f"/zkp/proofs/{UUID}", None, {}),
    (["proof", "revoke", UUID], "POST", f"/zkp/proofs/{UUID}/revoke", {"syncWaitMs": 0}, {}),
]


@pytest.mark.parametrize(("words", "method", "path", "body", "query"), ROWS, ids=[" ".join(row[0]) for row in ROWS])
def test_a_row_sends_its_operation(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    method: str,
    path: str,
    body: Any,
    query: dict[str, Any],
) -> None:
    sent: list[Any] = []

    def call(self: Session, *asked: str, body: Any = None, query: Any = None, **_: Any) -> None:
        sent.append((*asked, body, {name: value for name, value in query.items() if value is not None}))
        raise ServiceUnreachable("the service does not answer")

    monkeypatch.setattr(Session, "call", call)
    Commands({"IDENTITY_API_KEY": "k"}).refused(*words)
    assert sent == [(method, path, body, query)]
