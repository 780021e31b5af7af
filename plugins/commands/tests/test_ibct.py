"""``identity ibct``: tokens from a keys file, one use each, checked without the service."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from identity_core.cli import main
from identity_core.domain.dids import keys

HANA = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
AKI = "did:ids:QmcRD4wkPPi6dig81r5sLj9Zm1gDCL4zgpEj9CfuRrGbzF"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
PAIR = keys.generate("Ed25519", os.urandom)
PUBLIC = str(PAIR.public)


@pytest.fixture
def wallet(tmp_path: Path) -> str:
    path = tmp_path / "hana.json"
    key = {"type": "Ed25519", "keyId": f"{HANA}#{PUBLIC}", "publicKey": PUBLIC, "privateKey": PAIR.secret}
    path.touch(mode=0o600)
    path.write_text(json.dumps({"did": HANA, "keys": {"authentication": key}}))
    return str(path)


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ibct", *arguments], input=given)


def issue(wallet: str, *more: str) -> Result:
    return run(
        "issue", "--keys", wallet, "--agent", AKI, "--delegation", UUID, "--predicate", "age", "gte", *more
    )  # fmt: skip


def issued(wallet: str, *more: str) -> dict[str, Any]:
    result = issue(wallet, *more)
    assert result.exit_code == 0, result.output
    token: dict[str, Any] = json.loads(result.output)
    return token


def document(**change: Any) -> str:
    method = {"id": f"{HANA}#{PUBLIC}", "type": "Ed25519VerificationKey2020", "publicKeyMultibase": PUBLIC}
    value = {"id": HANA, "verificationMethod": [method | change], "authentication": [method["id"]]}
    return json.dumps({"didDocument": value})


def test_a_token_is_issued_and_holds(wallet: str) -> None:
    token = issued(wallet, "--pin", "18")
    assert token["action"] == "zkp.prove.age.gte.18"
    result = run("verify", "-", "--key", PUBLIC, given=json.dumps(token))
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == "valid"
    assert PAIR.secret not in result.output


def test_a_token_names_several_predicates_with_all_pins_or_none(wallet: str) -> None:
    assert issued(wallet, "--predicate", "country", "eq")["action"] == "zkp.prove.age.gte zkp.prove.country.eq"
    pinned = issued(wallet, "--predicate", "income", "gte", "--pin", "18", "--pin", "1000")
    assert pinned["action"] == "zkp.prove.age.gte.18 zkp.prove.income.gte.1000"
    refused = issue(wallet, "--predicate", "income", "gte", "--pin", "18")
    assert refused.exit_code == 2
    assert "once for each --predicate" in refused.output


def test_a_decimal_is_pinned_as_the_string_that_it_is(wallet: str) -> None:
    assert issued(wallet, "--pin", "1000.00")["action"] == issued(wallet, "--pin", '"1000.00"')["action"]


def test_malformed_token_is_refused_before_key_prompt() -> None:
    result = run("verify", "-", "--resolve", "http://127.0.0.1:9", given="{}")
    assert result.exit_code == 1
    assert result.output.startswith("error: IBCT_INVALID: ")


def test_several_tokens_at_once_are_lines_or_one_array(wallet: str) -> None:
    lines = issue(wallet, "--count", "3").output.splitlines()
    assert len({json.loads(line)["nonce"] for line in lines}) == 3
    assert len(json.loads(issue(wallet, "--count", "3", "--json").output)) == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--predicate", "age", "like"), "not one of gte, gt, lte"),
        (("--pin", '{"a":1}'), "a value is"),
        (("--pin", "null"), "null is not a value"),
        (("--agent", "aki"), "aki is not a DID"),
        (("--count", "0"), "--count"),
    ],
)
def test_token_refuses_invalid_content(wallet: str, more: tuple[str, ...], said: str) -> None:
    result = issue(wallet, *more)
    assert result.exit_code == 2
    assert said in result.output


def test_foreign_draft_is_signed_if_it_is_own_token(wallet: str) -> None:
    token = issued(wallet)
    del token["proofValue"]
    signed = run("sign", "-", "--keys", wallet, given=json.dumps(token))
    assert run("verify", "-", "--key", PUBLIC, given=signed.output).exit_code == 0
    drafts: list[Any] = [
        token | {"invoker": AKI},
        token | {"type": "Ticket"},
        {"challenge": "x"},
        [],
        token | {"nonce": 1},
    ]
    for draft in drafts:
        refused = run("sign", "-", "--keys", wallet, given=json.dumps(draft))
        assert refused.exit_code == 1
        assert "proofValue" not in refused.stdout


def test_the_same_member_twice_is_refused(wallet: str) -> None:
    token = issued(wallet)
    text = json.dumps(token)[:-1] + ', "action": "zkp.prove.income.gte"}'
    result = run("verify", "-", "--key", PUBLIC, given=text)
    assert result.exit_code == 2
    assert "same name" in result.output


def test_the_holders_key_from_a_document(wallet: str, tmp_path: Path) -> None:
    token = json.dumps(issued(wallet))
    path = tmp_path / "document.json"
    for text, status in [
        (document(), 0),
        (document(revoked="2020-01-01T00:00:00Z"), 2),
        (document().replace(HANA, AKI), 2),
        ("[]", 2),
    ]:
        path.write_text(text)
        assert run("verify", "-", "--document", str(path), given=token).exit_code == status, text


@pytest.mark.parametrize("more", [(), ("--key", PUBLIC, "--resolve", "http://127.0.0.1:1"), ("--key", "z6Mk")])
def test_one_source_of_the_key_is_named(wallet: str, more: tuple[str, ...]) -> None:
    assert run("verify", "-", *more, given=json.dumps(issued(wallet))).exit_code == 2


def test_a_forged_token_does_not_hold(wallet: str) -> None:
    token = issued(wallet) | {"action": "zkp.prove.age.gte.1"}
    result = run("verify", "-", "--key", PUBLIC, given=json.dumps(token))
    assert result.exit_code == 1
    assert "IBCT_INVALID" in result.output


@pytest.mark.parametrize("text", ["[]", "{}", "no json", '{"action": "x", "invoker": "y"}'])
def test_a_request_with_what_is_no_token(text: str) -> None:
    result = CliRunner().invoke(main, ["proof", "request", "--ibct", "-", "--credential", "urn:uuid:c"], input=text)
    assert result.exit_code == 1
    assert "not a token" in result.output
