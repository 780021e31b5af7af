"""``identity proof verify`` of a proof of suite 2: offline, under keys that the verifier has, without a record."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import click
import pytest
from identity_commands.proof_verify import verify, verify_octets
from identity_prover_bbs.plugin import BbsProver
from identity_verification.domain.verification import Expectation

from identity_codec.times import parse
from identity_core.errors import ProofInvalid
from tests.presenting import AUDIENCE, CURVE, NONCE, NOW, Holder, Issuer, Scene, ask, seeded, target
from tests.transparent_prover import TransparentProver

ALL = frozenset({"holder", "credentialValidity", "credentialStatus"})
PROVER = BbsProver(CURVE, seeded())


def verified(text: str, *, prover: Any = PROVER, now: Any = NOW, key: bytes = Issuer().public, **expected: Any) -> Any:
    question = Expectation(**({"audience": AUDIENCE, "nonce": NONCE, "requires": ALL} | expected))
    data = json.dumps({"proof": text}).encode()
    return verify_octets(data, prover=prover, find_key=lambda _: key, expectation=question, now=now)


@pytest.fixture(scope="module")
def text() -> str:
    return target().prove()


def test_it_needs_no_record(text: str) -> None:
    body = verified(text)
    assert body["verified"] is True
    assert {"holder", "credentialValidity", "credentialStatus"}.isdisjoint(body["unchecked"])
    assert "revocation" in body["unchecked"]
    assert set(verified(text, requires=frozenset())["unchecked"]) >= ALL, "nothing is promised without a request"


@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": "https://bank.example"},
        {"nonce": b"another challenge of the same shop"},
        {"key": Issuer(seed="another").public},
        {"now": NOW + timedelta(days=1)},
        {"now": NOW - timedelta(days=1)},
        {"prover": TransparentProver()},
    ],
)
def test_false_expectation_is_refused(text: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ProofInvalid):
        verified(text, **wrong)


def test_status_list_of_the_statement_is_named(text: str) -> None:
    """The credential was not revoked as of that time; a later revocation is not seen."""
    (named,) = verified(text)["statusLists"]
    begins, ends = (parse(named[name]) for name in ("begins", "ends"))
    assert begins <= NOW < ends
    assert begins.timestamp() == named["epoch"] * (ends - begins).total_seconds()


def test_missing_statement_is_reported() -> None:
    silent = target(status=False).prove()
    without = verified(silent, requires=ALL - {"credentialStatus"})
    assert (without["verified"], without["statusLists"]) == (True, [])
    with pytest.raises(ProofInvalid) as refused:
        verified(silent)
    assert "credentialStatus" in refused.value.details["reason"]


def test_its_status_list_is_as_new_as_the_verifier_wants(text: str) -> None:
    none = timedelta(0)
    assert verified(text, status_max_age=none)["verified"] is True
    with pytest.raises(ProofInvalid) as refused:
        verified(target(status=False).prove(), requires=frozenset(), status_max_age=none)
    assert "statusAge NOT_PROVEN" in refused.value.details["reason"]


@pytest.mark.parametrize(
    ("text", "cover"),
    [
        (None, None),
        ("7", 7),
        ("0", 0),
        ("audience,challenge", 3),
        ("Question, agent-key", 12),
        ("token", 16),
        ("audience,audience", 1),
    ],
)
def test_consent_cover_is_named_or_a_number(text: str | None, cover: int | None) -> None:
    (option,) = [one for one in verify.params if one.name == "consent_cover"]
    assert option.process_value(click.Context(verify), text) == cover


@pytest.mark.parametrize("text", ["", "32", "-1", "audience,verifier", "audience;challenge", "٧"])
def test_unknown_part_of_consent_cover_is_refused(text: str) -> None:
    (option,) = [one for one in verify.params if one.name == "consent_cover"]
    with pytest.raises(click.BadParameter, match="audience, challenge, question, agent-key, token"):
        option.process_value(click.Context(verify), text)


def test_alternatives_are_refused() -> None:
    header = Issuer().header()
    question = ask((header, ("balance", "gte", 5), ("balance", "gte", 6)), either=((0, 1),), status=True)
    text = Scene(question, (Holder().obtain(Issuer(), header=header),)).prove()
    with pytest.raises(ProofInvalid) as refused:
        verified(text)
    assert "alternatives" in refused.value.details["reason"]
