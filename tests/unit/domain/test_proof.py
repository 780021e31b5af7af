"""Contexts, expectations and public signals."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from identity_kit.conformance.prover_cases import ISSUED, SCHEMA, context, statement
from identity_verification.domain.verification import Expectation

from identity_codec.values import replace
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.proof import (
    Context,
    IssuerKey,
    PresentedProof,
    Witness,
    capability_digest,
    public_signals,
)
from identity_core.errors import ProofInvalid

CONTEXT = context()
KEY = IssuerKey("did:example:issuer#bbs", bytes(96))
ASKED = statement(KEY, ("score", "gte", 18), ("height", "lte", "1.5"))
PRESENTED = PresentedProof(KEY.verification_method, SCHEMA, ASKED.predicates, CONTEXT)
NOTHING = Expectation()


@pytest.mark.parametrize(
    "change",
    [
        {"audience": ""},
        {"audience": "a" * 513},
        {"audience": "a\n"},
        {"nonce": b"n" * 15},
        {"nonce": b"n" * 257},
        {"proof_id": ""},
        {"agent": ""},
        {"capability": b""},
        {"capability": bytes(31)},
        {"issued_at": ISSUED.replace(tzinfo=None)},
        {"issued_at": ISSUED + timedelta(microseconds=1)},
        {"expires_at": ISSUED},
    ],
)
def test_contexts_that_are_refused(change):
    with pytest.raises(ValueError, match=r".+"):
        replace(CONTEXT, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"audience": "a"},
        {"audience": "a" * 512},
        {"nonce": b"n" * 16},
        {"nonce": b"n" * 256},
        {"proof_id": "p"},
        {"agent": "a" * 512},
        {"capability": bytes(32)},
        {"expires_at": ISSUED + timedelta(seconds=1)},
    ],
)
def test_contexts_at_their_limits(change):
    replace(CONTEXT, **change)


def test_the_name_of_a_method_has_1_to_1024_characters():
    for name in ("x", "x" * 1024):
        IssuerKey(name, bytes(96))
    for name in ("", "x" * 1025, "x\n"):
        with pytest.raises(ValueError, match="1 to 1024"):
            IssuerKey(name, bytes(96))


def test_every_field_of_a_context_is_said():
    assert not Context.__struct_defaults__


@pytest.mark.parametrize(
    "change", [{}, {"capability": None}, {"agent": "did:example:aki"}, {"agent": "x", "capability": None}]
)
def test_a_context_has_one_json_form(change):
    made = replace(CONTEXT, **change)
    assert Context.from_json(made.json) == made
    assert None not in made.json.values()


@pytest.mark.parametrize(
    "change",
    [
        {"agent": None},
        {"capability": None},
        {"capability": "AAAA"},
        {"more": "x"},
        {"issuedAt": "0"},
        {"issuedAt": 1.5},
        {"issuedAt": True},
        {"issuedAt": -1},
        {"expiresAt": 253402300800},
        {"nonce": "AAAAAAAAAAAAAAAAAAAAAB"},
        {"nonce": 5},
        {"proofId": ["x"]},
        {"audience": {}},
    ],
)
def test_json_that_is_no_context(change):
    with pytest.raises(ValueError, match=r".+"):
        Context.from_json({**CONTEXT.json, **change})
    for member in ("audience", "nonce", "proofId", "issuedAt", "expiresAt"):
        with pytest.raises(ValueError, match=r".+"):
            Context.from_json({name: value for name, value in CONTEXT.json.items() if name != member})


def test_times_in_another_zone_are_the_same_time():
    there = CONTEXT.issued_at.astimezone(timezone(timedelta(hours=9)))
    assert replace(CONTEXT, issued_at=there) == CONTEXT


@pytest.mark.parametrize(("seconds", "good"), [(-61, False), (-60, True), (0, True), (599, True), (600, False)])
def test_the_time_of_a_proof(seconds, good):
    now = ISSUED + timedelta(seconds=seconds)
    if good:
        CONTEXT.check_time(now)
    else:
        with pytest.raises(ProofInvalid):
            CONTEXT.check_time(now)


def test_a_capability_digest_is_salted_and_unambiguous():
    digests = {
        capability_digest(b"n" * 16, b"token"),
        capability_digest(b"m" * 16, b"token"),
        capability_digest(b"n" * 17, b"oken"),
    }
    assert len(digests) == 3


def test_the_witness_is_not_printed():
    assert "secret" not in repr(Witness(b"secret", {"name": "secret"}))


def test_public_signals_are_in_the_order_of_the_contract():
    signals = public_signals("suite", statement(KEY, ("score", "gte", 18)), CONTEXT)
    assert signals[:6] == ("suite", "did:example:issuer#bbs", SCHEMA.id, "score", "gte", "18")
    assert len(signals) == 8
    assert {len(signal) for signal in signals[6:]} == {43}


@pytest.mark.parametrize(
    ("expected", "unchecked"),
    [
        ({}, {"predicate", "challenge", "domain", "issuerDid", "schemaId"}),
        ({"audience": CONTEXT.audience, "nonce": CONTEXT.nonce}, {"predicate", "issuerDid", "schemaId"}),
        ({"header_digest": bytes(32)}, {"predicate", "challenge", "domain", "issuerDid"}),
        (
            {
                "predicates": (
                    {"attributeName": "score", "type": "gte", "value": 18},
                    {"attributeName": "height", "type": "lte", "value": "1.50"},
                ),
                "proof_id": "proof-1",
                "capability": CONTEXT.capability,
                "verification_method": KEY.verification_method,
            },
            {"challenge", "domain", "schemaId"},
        ),
    ],
)
def test_missing_comparison_is_reported(expected, unchecked):
    never = {"maxAge", "holder", "credentialValidity", "credentialStatus", "revocation"}
    assert set(replace(NOTHING, **expected).unchecked) == unchecked | never


@pytest.mark.parametrize(("age", "good"), [(-60, True), (0, True), (30, True), (30.000001, False), (31, False)])
def test_how_old_a_proof_may_be(age, good):
    now = CONTEXT.issued_at + timedelta(seconds=age)
    expected = replace(NOTHING, max_age=timedelta(seconds=30))
    assert list(NOTHING.checks(PRESENTED, now + timedelta(days=3650))) == []
    (found,) = expected.checks(PRESENTED, now)
    assert (found.name, found.ok) == ("age", good)


@pytest.mark.parametrize(
    "expected",
    [
        {"audience": "https://other.example"},
        {"nonce": b"m" * 16},
        {"proof_id": "proof-2"},
        {"capability": bytes(32)},
        {"verification_method": "did:example:mallory#bbs"},
        {"header_digest": bytes(32)},
        {"issuer": "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"},
        {"schema_id": "urn:schema:other"},
        {"predicates": ()},
        {"predicates": ({"attributeName": "nonesuch", "type": "gte", "value": 18},) * 2},
        {"predicates": ({"attributeName": "score", "type": "gte", "value": "18"},) * 2},
        {"predicates": ({"attributeName": "score", "type": "gte", "value": 18},)},
        {
            "predicates": (
                {"attributeName": "score", "type": "gte", "value": 18},
                {"attributeName": "score", "type": "gte"},
            )
        },
        {
            "predicates": (
                {"attributeName": "height", "type": "lte", "value": "1.5"},
                {"attributeName": "score", "type": "gte", "value": 18},
            )
        },
    ],
)
def test_a_difference_is_refused(expected):
    assert [one.ok for one in replace(NOTHING, **expected).checks(PRESENTED, ISSUED)] == [False]


def test_a_header_is_compared_by_its_digest():
    other = replace(PRESENTED, schema=Schema("urn:other", SCHEMA.attributes))
    assert PRESENTED.schema.header != other.schema.header


def test_now_is_an_argument():
    with pytest.raises(TypeError):
        CONTEXT.check_time(datetime(2026, 1, 2, 0, 1))
    assert CONTEXT.issued_at.tzinfo is UTC
