"""Results of a verification: expectations, times, and verdicts by the checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from identity_verification.domain import verification
from identity_verification.domain.checks import BOUND, Check, CheckCode, compared_of, right, undecided, wrong
from identity_verification.domain.received import moment_within
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.expectation import nonce_of

from identity_codec.values import replace
from identity_core.domain.proofs.proof import Context, PresentedProof
from identity_core.errors import InvalidRequest

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
CONTEXT = Context("shop", b"0123456789abcdef", NOW, NOW + timedelta(hours=1), "proof", None, None)
ISSUER = "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"
SCHEMA: Any = SimpleNamespace(id="urn:schema", header=b"header")
PRESENTED = PresentedProof(f"{ISSUER}#key", SCHEMA, (), CONTEXT)


def compare_question(*, now: datetime = NOW, **question: Any) -> list[Check]:
    return list(Expectation(**question).checks(PRESENTED, now))


def test_the_kinds_of_checks() -> None:
    assert right("x") == Check("x", True, None)
    assert wrong("x", CheckCode.PROOF_INVALID) == Check("x", False, CheckCode.PROOF_INVALID)
    assert undecided("x", CheckCode.ISSUER_UNAVAILABLE) == Check("x", None, CheckCode.ISSUER_UNAVAILABLE)


def test_findings_are_called_as_they_are_written() -> None:
    assert all(finding.name == finding.value for finding in CheckCode)


@pytest.mark.parametrize(
    ("question", "name", "code"),
    [
        ({"nonce": b"0123456789abcdef"}, "challenge", None),
        ({"nonce": b"0123456789abcdeg"}, "challenge", CheckCode.CHALLENGE_MISMATCH),
        ({"audience": "shop"}, "domain", None),
        ({"audience": "Shop"}, "domain", CheckCode.DOMAIN_MISMATCH),
        ({"issuer": ISSUER}, "issuer", None),
        ({"issuer": ISSUER[:-1]}, "issuer", CheckCode.ISSUER_MISMATCH),
        ({"schema_id": "urn:schema"}, "schema", None),
        ({"schema_id": "urn:other"}, "schema", CheckCode.SCHEMA_MISMATCH),
    ],
)
def test_an_expectation_is_a_check(question: dict[str, Any], name: str, code: CheckCode | None) -> None:
    (check,) = compare_question(**question)
    assert (check.name, check.ok, check.code) == (name, code is None, code)
    (expected,) = question.values()
    found = {"challenge": "0123456789abcdef", "domain": "shop", "issuer": ISSUER, "schema": "urn:schema"}[name]
    text = expected.decode() if isinstance(expected, bytes) else expected
    assert (check.expected, check.found) == ((None, None) if code is None else (text, found))


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("x" * 200, "x" * 120),
        ("a\nb\u202ec", "a?b?c"),
        (b"\xff" * 16, "_____________________w"),
        ([b'{"attributeName":"age","type":"gte","value":18}'], "age gte"),
        (True, None),
        (("did:example:a",), None),
    ],
)
def test_shown_parts_of_a_check_are_short_without_values(part: object, text: str | None) -> None:
    assert wrong("x", CheckCode.PREDICATE_MISMATCH, part, None).expected == text


def test_no_expectation_is_no_check() -> None:
    assert compare_question() == []
    assert Expectation().unchecked[:6] == ("predicate", "challenge", "domain", "issuerDid", "schemaId", "maxAge")
    everything = Expectation(
        predicates=({"attributeName": "age"},), nonce=b"n", audience="d", issuer="i", schema_id="s", max_age=SECOND
    ).unchecked
    assert everything == Expectation().unchecked[6:]
    assert "credentialStatus" in everything


def test_a_proof_is_too_old_after_its_age() -> None:
    hour = timedelta(hours=1)
    assert compare_question(max_age=hour, now=NOW + hour) == [right("age")]
    assert compare_question(max_age=hour, now=NOW + hour + TICK) == [wrong("age", CheckCode.PROOF_TOO_OLD)]


@pytest.mark.parametrize(("size", "is_good"), [(15, False), (16, True), (256, True), (257, False)])
def test_a_challenge_has_16_to_256_bytes(size: int, is_good: bool) -> None:
    if is_good:
        assert nonce_of("x" * size) == b"x" * size
        return
    with pytest.raises(InvalidRequest, match="16 to 256") as refused:
        nonce_of("x" * size)
    assert refused.value.details == {"member": "challenge"}


def test_the_time_of_a_proof() -> None:
    end = CONTEXT.expires_at
    assert verification.check_time(CONTEXT, end - TICK) == right("time")
    assert verification.check_time(CONTEXT, end) == wrong(
        "time", CheckCode.PROOF_EXPIRED, found="expired 2026-01-02T04:04:05Z"
    )
    early = NOW - timedelta(seconds=60)
    assert verification.check_time(CONTEXT, early) == right("time")
    assert verification.check_time(CONTEXT, early - TICK) == wrong(
        "time", CheckCode.PROOF_NOT_YET_VALID, found="made 2026-01-02T03:04:05Z"
    )


def test_the_nearest_moment_within_it() -> None:
    assert moment_within(CONTEXT, NOW - SECOND) == NOW
    assert moment_within(CONTEXT, NOW + SECOND) == NOW + SECOND
    assert moment_within(CONTEXT, NOW + timedelta(hours=2)) == CONTEXT.expires_at - SECOND


def test_the_issuer_is_the_controller_of_the_method() -> None:
    assert verification.issuer_of(PRESENTED) == ISSUER
    other = replace(PRESENTED, verification_method="unknown")
    assert verification.issuer_of(other) is None


def test_a_verdict_is_all_of_its_checks() -> None:
    good = ProofVerification((right("a"), right("b")), PRESENTED, ())
    assert good.verified
    assert good.errors == ()
    assert not ProofVerification((), PRESENTED, ()).verified
    assert not replace(good, checks=(right("a"), undecided("b", CheckCode.ISSUER_UNAVAILABLE))).verified
    twice = (wrong("a", CheckCode.PROOF_INVALID), right("b"), wrong("c", CheckCode.PROOF_INVALID))
    bad = replace(good, checks=(*twice, undecided("d", CheckCode.ISSUER_UNAVAILABLE)))
    assert not bad.verified
    assert bad.errors == (CheckCode.PROOF_INVALID, CheckCode.ISSUER_UNAVAILABLE)


@pytest.mark.parametrize("left_out", [None, *BOUND])
def test_valid_needs_predicate_challenge_domain_and_issuer(left_out: str | None) -> None:
    given: dict[str, Any] = {
        "predicate": {"predicates": ({"attributeName": "age"},)},
        "challenge": {"nonce": b"n"},
        "domain": {"audience": "d"},
        "issuerDid": {"issuer": "i"},
    }
    question = Expectation(
        **{name: value for part, each in given.items() if part != left_out for name, value in each.items()}
    )
    found = ProofVerification((right("a"),), PRESENTED, question.unchecked)
    assert found.verified
    assert (found.verdict, found.missing) == (("valid", ()) if left_out is None else ("unbound", (left_out,)))
    bad = replace(found, checks=(wrong("a", CheckCode.PROOF_INVALID),))
    assert bad.verdict == "invalid"
    assert compared_of(found.missing) == tuple(part for part in BOUND if part != left_out)


@pytest.mark.parametrize("named", [{"verification_method": "did:example:i#key"}, {"question": object()}])
def test_issuer_is_named_by_method_or_question(named: dict[str, Any]) -> None:
    assert "issuerDid" not in Expectation(**named).unchecked
