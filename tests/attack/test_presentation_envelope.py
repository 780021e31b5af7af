"""Hostile envelopes of suite 2: made with the standard library's JSON and base64, refused before anything is done on a curve."""

from __future__ import annotations

import base64
import functools
import json

import pytest
from identity_bound_credentials.domain.bound_credential import SecretKeeper
from identity_bound_credentials.domain.question import HolderForm
from identity_prover_bbs.suite2 import PresentationEnvelope, verifier

from identity_codec.values import replace
from identity_core.domain.proofs.proof import MAX_ENVELOPE_CHARACTERS
from identity_core.errors import PredicateUnsupported, ProofInvalid
from tests.presenting import IVO, NOW, Acceptance, Holder, Issuer, Scene, ask, context

HEADER = Issuer().header()
MEMBERS = [
    "agent",
    "argument",
    "consent",
    "context",
    "day",
    "disclosed",
    "parts",
    "pseudonym",
    "question",
    "sets",
    "status",
    "suite",
    "version",
]


@functools.cache
def shared_scene():
    """Return a scene that is made when a test first needs it; at collection it would cost a proof."""
    question = ask((HEADER, ("score", "gte", 100), ("country", "eq", "JP")), status=True, pseudonym="shop")
    return Scene(question, (Holder().obtain(Issuer()),))


@functools.cache
def proved():
    return shared_scene().prove()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def packed(value, **options):
    return b64(
        json.dumps(value, ensure_ascii=False, **({"separators": (",", ":"), "sort_keys": True} | options)).encode()
    )


def open_envelope():
    return json.loads(unb64(proved()))


@pytest.fixture(autouse=True)
def no_curve(monkeypatch):
    """None of this needs a point."""

    def refuse(*given):
        raise AssertionError("a curve was used")

    monkeypatch.setattr(verifier.PresentationVerifier, "_check", refuse)


def test_the_text_is_that_of_the_standard_library():
    assert packed(open_envelope()) == proved()
    assert sorted(open_envelope()) == MEMBERS


@pytest.mark.parametrize("name", MEMBERS)
def test_members_that_are_missing_or_of_another_type(name):
    value = open_envelope()
    for hostile in (None, 5, -1, True, "", "x", [], {}, [[]], [None], {"a": 1}, 1.5, [5], "A" * 30):
        if value[name] == hostile:
            continue
        reason = shared_scene().verdict(packed(value | {name: hostile}))
        assert isinstance(reason, str), (name, hostile)
    del value[name]
    assert shared_scene().verdict(packed(value)) == "the envelope has not exactly its members"


def test_members_that_are_too_many():
    for member in ("more", "issuerKey", "ph", "publicKey"):
        assert (
            shared_scene().verdict(packed(open_envelope() | {member: 1})) == "the envelope has not exactly its members"
        )
    for inner in ("context", "consent", "question"):
        value = open_envelope()
        value[inner]["more"] = 1
        assert shared_scene().verdict(packed(value)) in (
            "the envelope is not in its canonical form",
            "the envelope has not the shape of one",
        )
    value = open_envelope()
    value["parts"][0]["more"] = value["status"][0]["more"] = 1
    assert shared_scene().verdict(packed(value)) == "the envelope is not in its canonical form"


def test_other_spellings_of_one_value():
    data = unb64(proved())
    spellings = [
        packed(open_envelope(), sort_keys=False, separators=(", ", ": ")),
        b64(b" " + data),
        b64(data + b"\n"),
        b64(data.replace(b'"version":2', b'"version":2.0')),
        b64(data.replace(b'"version":2', b'"version":2,"version":2')),
        b64(data.replace(b'"score"', b'"\\u0073core"')),
        proved() + "=",
        proved() + "\n",
    ]
    for text in spellings:
        assert isinstance(shared_scene().verdict(text), str)


def test_caps_come_first():
    assert "characters" in shared_scene().verdict("A" * (MAX_ENVELOPE_CHARACTERS + 1))
    value = open_envelope()
    value["parts"] = value["parts"] * 5
    value["question"]["credentials"] = value["question"]["credentials"] * 5
    assert shared_scene().verdict(packed(value)) == "the envelope has not the shape of one"
    value = open_envelope()
    value["question"]["credentials"][0]["predicates"] = value["question"]["credentials"][0]["predicates"] * 9
    assert "too many" in shared_scene().verdict(packed(value))
    value = open_envelope()
    many = {"attributeName": "country", "type": "set_member", "value": [f"{n:04}" for n in range(4097)]}
    value["question"]["credentials"][0]["predicates"] = [many]
    assert isinstance(shared_scene().verdict(packed(value)), str)
    assert isinstance(shared_scene().verdict(b64(b"[" * 100_000)[:130_000]), str)


def test_a_proof_of_one_suite_in_the_other():
    value = open_envelope()
    for change in ({"suite": "identity-bbs-predicates-1"}, {"version": 1}, {"version": True}):
        assert isinstance(shared_scene().verdict(packed(value | change)), str)
    from identity_prover_bbs.envelope import Envelope

    with pytest.raises(ProofInvalid):
        Envelope.decode(proved())


@pytest.mark.parametrize(
    ("path", "hostile"),
    [
        (("day",), 20_781),
        (("day",), None),
        (("pseudonym",), b64(bytes(48))),
        (("consent", "cover"), 3),
        (("consent", "cover"), 4),
        (("consent", "cover"), 39),
        (("consent", "notAfter"), 1),
        (("consent", "notBefore"), 0.0),
        (("consent", "value"), b64(bytes(191))),
        (("argument",), ""),
        (("sets",), [b64(bytes(48))]),
        (("disclosed",), []),
        (("disclosed", 0, 1), 2),
        (("disclosed", 0, 2), b64(b"\x01DE")),
        (("disclosed", 0, 0), 1),
        (("disclosed", 0, 0), False),
        (("context", "audience"), "https://other.example"),
        (("context", "expiresAt"), 1 << 40),
        (("question", "validity"), False),
        (("question", "status"), False),
        (("question", "holder"), "plain"),
        (("question", "pseudonym"), "bank"),
        (("agent",), {"key": b64(bytes(32)), "signature": None}),
        (("agent",), {"key": b64(bytes(31)), "signature": b64(bytes(64))}),
        (("status",), []),
        (("status", 0, "proof"), b64(bytes(304))[:-4]),
        (("parts", 0, "proof"), ""),
    ],
)
def test_values_that_are_the_verifiers_own(path, hostile):
    value = open_envelope()
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = hostile
    assert isinstance(shared_scene().verdict(packed(value)), str)


def test_headers_of_another_kind():
    v1 = b64(HEADER.schema.header)
    epoch = b64(Issuer().epoch().header)
    for place, header in (
        ("parts", v1),
        ("parts", epoch),
        ("status", v1),
        ("status", b64(HEADER.encoded)),
        ("parts", ""),
    ):
        value = open_envelope()
        value[place][0]["header"] = header
        assert isinstance(shared_scene().verdict(packed(value)), str)
    other = replace(HEADER, keeper=SecretKeeper.CUSTODIAN)
    value = open_envelope()
    value["parts"][0]["header"] = b64(other.encoded)
    assert isinstance(shared_scene().verdict(packed(value)), str)


def test_keys_come_from_elsewhere():
    with pytest.raises(ProofInvalid) as refusal:
        shared_scene().accept(proved(), keys={})
    assert refusal.value.details["reason"] == "the key of a credential or of a status list is not known"
    assert b"publicKey" not in unb64(proved())
    assert Issuer().public.hex().encode() not in unb64(proved()).hex().encode()
    assert f"{IVO}#bbs" in str(open_envelope()["question"])


def test_a_question_that_a_stranger_cannot_ask():
    """What no honest prover proves, a verifier's own question refuses already."""
    bearer = replace(HEADER, keeper=SecretKeeper.NONE)
    with pytest.raises(PredicateUnsupported):
        ask((bearer,), holder=HolderForm.CONSENT)
    value = open_envelope()
    value["parts"][0]["header"] = b64(bearer.encoded)
    assert isinstance(shared_scene().verdict(packed(value)), str)


def test_an_unexpected_agent_or_capability():
    for change in ({"agent_key": bytes(32)}, {"capability": bytes(32)}):
        assert "expected" in shared_scene().verdict(proved(), **change)
    with_capability = Scene(ask((HEADER,)), shared_scene().held, context=context(capability=bytes(32)))
    assert "capability" in with_capability.verdict(with_capability.prove())


def test_the_envelope_reads_itself():
    envelope = PresentationEnvelope.decode(proved())
    assert envelope.encode() == proved()
    assert envelope.question == shared_scene().question
    assert Acceptance(NOW).now == NOW
    with pytest.raises(ProofInvalid, match="proof"):
        verifier.PresentationEnvelope.decode("")
