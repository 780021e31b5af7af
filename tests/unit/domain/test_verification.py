"""What a verification says: expectations, times, and what follows from the checks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.domain import verification
from identity_core.domain.proof import Context
from identity_core.domain.verification import Check, Finding, Question, Verdict, right, undecided, wrong
from identity_core.errors import InvalidRequest

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
CONTEXT = Context("shop", b"0123456789abcdef", NOW, NOW + timedelta(hours=1), "proof", None, None)
ISSUER = "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"
PRESENTED: Any = SimpleNamespace(
    context=CONTEXT, verification_method=f"{ISSUER}#key", schema=SimpleNamespace(id="urn:schema")
)


def asked(*, now: datetime = NOW, **question: Any) -> list[Check]:
    return list(Question(**question).compare(PRESENTED, now))


def test_the_kinds_of_checks() -> None:
    assert right("x") == Check("x", True, None)
    assert wrong("x", Finding.PROOF_INVALID) == Check("x", False, Finding.PROOF_INVALID)
    assert undecided("x", Finding.ISSUER_UNAVAILABLE) == Check("x", None, Finding.ISSUER_UNAVAILABLE)


def test_findings_are_called_as_they_are_written() -> None:
    assert all(finding.name == finding.value for finding in Finding)


@pytest.mark.parametrize(
    ("question", "name", "code"),
    [
        ({"challenge": "0123456789abcdef"}, "challenge", None),
        ({"challenge": "0123456789abcdeg"}, "challenge", Finding.CHALLENGE_MISMATCH),
        ({"domain": "shop"}, "domain", None),
        ({"domain": "Shop"}, "domain", Finding.DOMAIN_MISMATCH),
        ({"issuer": ISSUER}, "issuer", None),
        ({"issuer": ISSUER[:-1]}, "issuer", Finding.ISSUER_MISMATCH),
        ({"schema_id": "urn:schema"}, "schema", None),
        ({"schema_id": "urn:other"}, "schema", Finding.SCHEMA_MISMATCH),
    ],
)
def test_an_expectation_is_a_check(question: dict[str, str], name: str, code: Finding | None) -> None:
    assert asked(**question) == [Check(name, code is None, code)]


def test_no_expectation_is_no_check() -> None:
    assert asked() == []
    assert Question().unchecked[:6] == ("predicate", "challenge", "domain", "issuerDid", "schemaId", "maxAge")
    everything = Question({}, "0123456789abcdef", "d", "i", "s", SECOND).unchecked
    assert everything == Question().unchecked[6:]
    assert "credentialStatus" in everything


def test_a_proof_is_too_old_after_its_age() -> None:
    hour = timedelta(hours=1)
    assert asked(max_age=hour, now=NOW + hour) == [right("age")]
    assert asked(max_age=hour, now=NOW + hour + TICK) == [wrong("age", Finding.PROOF_TOO_OLD)]


@pytest.mark.parametrize(("octets", "is_good"), [(15, False), (16, True), (256, True), (257, False)])
def test_a_challenge_has_16_to_256_octets(octets: int, is_good: bool) -> None:
    if is_good:
        Question(challenge="x" * octets)
        return
    with pytest.raises(InvalidRequest, match="16 to 256") as refused:
        Question(challenge="x" * octets)
    assert refused.value.details == {"member": "challenge"}


def test_the_time_of_a_proof() -> None:
    end = CONTEXT.expires_at
    assert verification.check_time(CONTEXT, end - TICK) == right("time")
    assert verification.check_time(CONTEXT, end) == wrong("time", Finding.PROOF_EXPIRED)
    early = NOW - timedelta(seconds=60)
    assert verification.check_time(CONTEXT, early) == right("time")
    assert verification.check_time(CONTEXT, early - TICK) == wrong("time", Finding.PROOF_NOT_YET_VALID)


def test_the_nearest_moment_within_it() -> None:
    assert verification.moment_within(CONTEXT, NOW - SECOND) == NOW
    assert verification.moment_within(CONTEXT, NOW + SECOND) == NOW + SECOND
    assert verification.moment_within(CONTEXT, NOW + timedelta(hours=2)) == CONTEXT.expires_at - SECOND


def test_the_issuer_is_the_controller_of_the_method() -> None:
    assert verification.issuer_of(PRESENTED) == ISSUER
    other: Any = SimpleNamespace(**vars(PRESENTED) | {"verification_method": "nobody"})
    assert verification.issuer_of(other) is None


def test_a_verdict_is_all_of_its_checks() -> None:
    good = Verdict((right("a"), right("b")), PRESENTED, ())
    assert good.verified
    assert good.errors == ()
    assert not Verdict((), PRESENTED, ()).verified
    assert not replace(good, checks=(right("a"), undecided("b", Finding.ISSUER_UNAVAILABLE))).verified
    twice = (wrong("a", Finding.PROOF_INVALID), right("b"), wrong("c", Finding.PROOF_INVALID))
    bad = replace(good, checks=(*twice, undecided("d", Finding.ISSUER_UNAVAILABLE)))
    assert not bad.verified
    assert bad.errors == (Finding.PROOF_INVALID, Finding.ISSUER_UNAVAILABLE)
