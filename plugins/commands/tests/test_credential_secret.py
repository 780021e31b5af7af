"""identity credential rotate-secret and identity doctor --held: what becomes of credentials when a wallet's secret is replaced, or lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from identity_codec.multibase import base64url_encode
from plugins.commands.tests.test_credential_wallet import CHALLENGE, HANA, MALLORY, Exchange, copy_text, exchange
from tests.presenting import AUDIENCE
from tests.unit.cli.conftest import Commands

__all__ = ["exchange"]


def issued(exchange: Exchange, *more: str) -> str:
    """A credential for Hana, in her file."""
    credential = exchange.signed(exchange.request(exchange.offer()), HANA, *more)
    exchange.run.json(*exchange.accepting(credential))
    return str(json.loads(credential.read_text())["id"])


def file() -> dict[str, Any]:
    return json.loads(Path("held").read_text())


def rotated(exchange: Exchange, *more: str) -> Any:
    return exchange.run.json("credential", "rotate-secret", "--keys", exchange.keys[HANA], "--held", "held", *more)


def proving(exchange: Exchange, *ids: str) -> tuple[Any, ...]:
    parts = [{"credentialId": one, "predicates": [{"attributeName": "age", "type": "gte", "value": 18}]} for one in ids]
    words = (
        "--keys",
        exchange.keys[HANA],
        "--held",
        "held",
        "--question",
        copy_text("question", {"credentials": parts}),
    )
    return ("proof", "create", *words, "--audience", AUDIENCE, "--challenge", CHALLENGE)


def finding(run: Commands) -> tuple[int, dict[str, Any]]:
    done = run("doctor", "--held", "held", "--json")
    found = json.loads(done.stdout)["findings"]
    return done.exit_code, found[0]


def test_rotation_lists_credentials_to_issue_again(exchange: Exchange) -> None:
    first = issued(exchange)
    before = file()["secret"]
    asked = exchange.request(exchange.offer())
    assert rotated(exchange) == {"toBeIssuedAnew": [first]}
    assert file()["secret"] != before
    # What was asked for before is answered on the secret that it was asked with.
    late = exchange.signed(asked)
    exchange.run.json(*exchange.accepting(late))
    second = json.loads(late.read_text())["id"]
    for one in (first, second):
        proof = copy_text("proof", exchange.run.json(*proving(exchange, one)))
        exchange.run.json(*exchange.verifying(proof))
    assert exchange.run.json(*proving(exchange, first, second))["proof"]
    # The issuer knows the holder by the secret, and takes another only if an operator confirmed it.
    request = exchange.request(exchange.offer())
    assert exchange.run(*exchange.signing(request)).exit_code == 1
    third_file = exchange.signed(request, HANA, "--new-secret")
    exchange.run.json(*exchange.accepting(third_file))
    third = json.loads(third_file.read_text())["id"]
    assert exchange.run.json(*proving(exchange, third))["proof"]
    together = exchange.run(*proving(exchange, first, third))
    assert together.exit_code == 1
    assert "bound to two secrets" in together.stderr
    code, found = finding(exchange.run)
    assert (code, found["state"]) == (0, "warn")
    assert first in found["says"]
    assert third not in found["says"]
    assert "--new-secret" in found["remedy"]
    assert sorted(rotated(exchange, "--forget")["forgotten"]) == sorted([first, second])
    assert before not in Path("held").read_text(), "a former secret is still there"
    code, found = finding(exchange.run)
    assert (code, found["state"]) == (0, "ok")
    assert [*file()["credentials"]] == [third]


def test_two_rotations_keep_each_its_own(exchange: Exchange) -> None:
    first = issued(exchange)
    rotated(exchange)
    second = issued(exchange, "--new-secret")
    assert rotated(exchange) == {"toBeIssuedAnew": [first, second]}
    for one in (first, second):
        copy_text("proof", exchange.run.json(*proving(exchange, one)))
    assert exchange.run(*proving(exchange, first, second)).exit_code == 1


def test_a_file_that_lost_its_secret_is_told(exchange: Exchange) -> None:
    issued(exchange)
    whole = Path("held").read_text()
    code, found = finding(exchange.run)
    assert (code, found["state"]) == (0, "ok")
    other = base64url_encode(b"\x01" * 32)
    for secret, says in (
        (other, "bound to another secret"),
        ("", "its secret is not there"),
        (base64url_encode(b"\xff" * 32), "its secret is not there"),
        ("***", "cannot be read"),
    ):
        Path("held").write_text(json.dumps(json.loads(whole) | {"secret": secret}))
        code, found = finding(exchange.run)
        assert (code, found["state"]) == (1, "fail"), secret
        assert says in found["says"]
        assert "bring the file back" in found["remedy"]
    for changed in ({"blind": other}, {"blind": "***"}, {"credential": {}}, {"secret": other}):
        value = json.loads(whole)
        (kept,) = value["credentials"].values()
        kept.update(changed)
        Path("held").write_text(json.dumps(value))
        assert finding(exchange.run)[1]["state"] == "fail", changed
    for entry in (7, None, [], "x", {}):
        Path("held").write_text(json.dumps(json.loads(whole) | {"credentials": {"urn:x": entry}}))
        assert finding(exchange.run)[1]["state"] == "fail", entry


@pytest.mark.parametrize("what", ["another's file", "no file", "no file of a holder's"])
def test_only_the_holders_own_file_is_rotated(exchange: Exchange, what: str) -> None:
    issued(exchange)
    before = Path("held").read_text()
    keys, held = {
        "another's file": (MALLORY, "held"),
        "no file": (HANA, "none"),
        "no file of a holder's": (HANA, "book"),
    }[what]
    done = exchange.run("credential", "rotate-secret", "--keys", exchange.keys[keys], "--held", held)
    assert done.exit_code == (2 if what == "no file" else 1)
    assert Path("held").read_text() == before
    assert not Path("none").exists()
