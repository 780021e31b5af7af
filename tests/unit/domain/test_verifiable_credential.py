"""What is signed, and how it travels."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from identity_bound_credentials.domain.bound_format import BOUND_CREDENTIALS, parse_credential

from identity_codec import multibase
from identity_codec.values import replace
from identity_core.domain.credentials.credential import canonical_values, check_signature, parse_signature
from identity_core.domain.credentials.verifiable_credential import CONTEXTS
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import InvalidCredential
from tests.credentials import (
    HOLDER,
    NOW,
    VALUES,
    a_credential,
    a_key,
    a_schema,
    raw,
    shown_to_holder,
    sign,
    sign_messages,
)

SCHEMA = a_schema().schema
CANONICAL = canonical_values(SCHEMA, VALUES)
BASE = "https://id.example/api/v1"
SIGNATURE = sign(SCHEMA, VALUES)


def show_to_holder(**changed: Any) -> dict[str, Any]:
    return shown_to_holder(a_credential(**changed), Witness(SIGNATURE, CANONICAL), BASE)


def test_values_take_their_one_form() -> None:
    assert CANONICAL["income"] == "41250.50"
    assert canonical_values(SCHEMA, VALUES | {"name": "e\u0301"})["name"] == "é"
    assert list(CANONICAL) == [attribute.name for attribute in SCHEMA.attributes]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", 24.5), ("age", "24"), ("age", True), ("age", 151), ("age", -1), ("age", [24]), ("age", {"v": 24}),
        ("big", 9007199254740993), ("big", "24"), ("big", "9223372036854775808"), ("big", "+9007199254740993"),
        ("income", 1.505), ("income", "1.505"), ("income", "1e3"), ("income", "-0"), ("born", "2001-02-30"),
        ("born", "1899-12-31"), ("born", "2001-04-01T00:00:00Z"), ("member", 1), ("member", "true"),
        ("name", 5), ("name", "x" * 1025), ("name", "\ud800"),
    ],
)  # fmt: skip
def test_a_value_that_is_refused_is_named_and_never_quoted(name: str, value: Any) -> None:
    with pytest.raises(InvalidCredential) as refused:
        canonical_values(SCHEMA, VALUES | {name: value})
    assert refused.value.details["attribute"] == name
    told = str(refused.value) + str(refused.value.details)
    assert str(value) not in told or str(value) in ("1", "5", "24", "true", "-1", "-0")
    assert "Hana-the-secret" not in told


def test_every_attribute_is_named_and_no_other() -> None:
    with pytest.raises(InvalidCredential):
        canonical_values(SCHEMA, {name: VALUES[name] for name in VALUES if name != "age"})
    with pytest.raises(InvalidCredential) as refused:
        canonical_values(SCHEMA, VALUES | {"passport L0123": "x"})
    assert "L0123" not in str(refused.value.details)
    assert refused.value.details["attributes"] == list(CANONICAL)
    assert canonical_values(SCHEMA, VALUES | {"age": None})["age"] is None


def test_the_signature_of_the_issuer() -> None:
    check_signature(raw(a_key()), SIGNATURE, SCHEMA, CANONICAL)


def test_a_signature_on_anything_else() -> None:
    other_schema = a_schema("urn:example:person:2").schema
    contradicting = list(SCHEMA.messages(CANONICAL))
    # The number says another age than the text: a mark, and a proof of what was never said.
    contradicting[-1] = int(contradicting[-1]) + 1
    cases = [
        (raw(a_key("mallory")), SIGNATURE, SCHEMA, CANONICAL),
        (raw(a_key()), SIGNATURE, other_schema, CANONICAL),
        (raw(a_key()), SIGNATURE, SCHEMA, CANONICAL | {"age": 25}),
        (raw(a_key()), SIGNATURE, SCHEMA, CANONICAL | {"age": None}),
        (raw(a_key()), sign_messages(SCHEMA.header, contradicting, a_key()), SCHEMA, CANONICAL),
        (raw(a_key()), bytes(80), SCHEMA, CANONICAL),
        (raw(a_key()), b"\xc0" + bytes(79), SCHEMA, CANONICAL),
        (raw(a_key()), b"\xff" * 80, SCHEMA, CANONICAL),
        (raw(a_key()), SIGNATURE[:79], SCHEMA, CANONICAL),
        (b"\xc0" + bytes(95), SIGNATURE, SCHEMA, CANONICAL),
    ]
    for public_key, signature, schema, values in cases:
        with pytest.raises(InvalidCredential):
            check_signature(public_key, signature, schema, values)


def test_a_signature_is_80_octets_in_one_of_two_forms() -> None:
    text = multibase.base64url_encode(SIGNATURE)
    assert parse_signature(text) == parse_signature("u" + text) == SIGNATURE
    for bad in ("", "u", text[:-1], text + "A", text + "=", "z" + text, "uu" + text):
        with pytest.raises(InvalidCredential):
            parse_signature(bad)


@pytest.mark.parametrize(
    "option",
    [
        {"created": "yesterday"}, {"created": None}, {"created": 5}, {"created": "9999-01-01T00:00:00Z"},
        {"expires": "2020-01-01T00:00:00Z"}, {"expires": "soon"}, {"previousProof": "urn:uuid:1"}, {"domain": 5}, {"nonce": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_options_of_the_proof_are_checked(option: dict[str, Any]) -> None:
    """VC Data Integrity 1.0, "Proofs"."""
    value = show_to_holder()
    parse_credential(value, NOW)
    with pytest.raises(InvalidCredential) as refused:
        parse_credential(value | {"proof": value["proof"] | option}, NOW)
    assert "options of the proof" in str(refused.value.details["reason"])


def test_a_credential_is_read_as_it_was_written() -> None:
    value = show_to_holder(valid_until=NOW + timedelta(days=1))
    assert value["validUntil"] == "2026-01-02T00:00:00Z"
    assert value["credentialSubject"] == {"id": str(HOLDER), **CANONICAL}
    presented = parse_credential(value)
    assert presented.signature == SIGNATURE
    assert presented.attributes == CANONICAL
    assert presented.agrees_with(a_credential(valid_until=NOW + timedelta(days=1)), BASE, BOUND_CREDENTIALS)
    assert "Hana" not in repr(presented)


@pytest.mark.parametrize(
    "changed",
    [
        {"holder": replace(HOLDER, text="did:example:eve", identifier="eve")},
        {"valid_from": NOW - timedelta(days=1)},
        {"valid_until": NOW + timedelta(days=1)},
        {"id": "urn:uuid:00000000-0000-4000-8000-000000000000"},
        {"status_index": 5},
        {"verification_method": "did:example:ivo#other"},
    ],
)
def test_unsigned_members_must_be_as_recorded(changed: dict[str, Any]) -> None:
    presented = parse_credential(show_to_holder(**changed))
    assert not presented.agrees_with(a_credential(), BASE, BOUND_CREDENTIALS)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x"},
        {"@context": ["https://www.w3.org/ns/credentials/v2"]},
        {"@context": [*CONTEXTS, "https://id.example/more"]},
        {"@context": ["~"]},
        {"@context": "~"},
        {"type": ["VerifiableCredential", "Admin"]},
        {"type": []},
        {"type": "VerifiableCredential"},
        {"issuer": {"id": "did:example:ivo"}},
        {"issuer": "ivo"},
        {"credentialSubject": []},
        {"credentialSubject": {"age": 24}},
        {"proof": []},
        {"proof": {"type": "DataIntegrityProof", "cryptosuite": "bbs-2023"}},
        {"validFrom": "2026-01-01"},
        {"validFrom": None},
        {"id": 5},
        {"id": "x" * 2049},
    ],
)
def test_unsupported_credential_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidCredential):
        parse_credential(show_to_holder() | change)


def test_a_text_has_at_most_2048_characters() -> None:
    assert parse_credential(show_to_holder() | {"id": "x" * 2048}).id == "x" * 2048


@pytest.mark.parametrize(
    ("part", "member"),
    [("credentialSchema", "type"), ("proof", "type"), ("proof", "cryptosuite"), ("proof", "proofPurpose")],
)
@pytest.mark.parametrize("other", ["", "A", "~", 5, None])
def test_a_schema_or_a_proof_of_another_kind_is_refused(part: str, member: str, other: object) -> None:
    value = show_to_holder()
    with pytest.raises(InvalidCredential) as refused:
        parse_credential(value | {part: value[part] | {member: other}})
    assert refused.value.details == {"reason": "the schema or the proof is of another kind"}


@pytest.mark.parametrize("member", ["@context", "id", "type", "issuer", "validFrom", "credentialSubject", "proof"])
def test_no_member_may_be_missing(member: str) -> None:
    value = show_to_holder()
    del value[member]
    with pytest.raises(InvalidCredential):
        parse_credential(value)


@pytest.mark.parametrize("part", ["credentialSchema", "proof"])
@pytest.mark.parametrize("name", ["role", "header", "id2", "challenge"])
def test_unsigned_member_of_a_part_is_refused(part: str, name: str) -> None:
    """A receiver would take it for a part of what was verified."""
    value = show_to_holder()
    with pytest.raises(InvalidCredential):
        parse_credential(value | {part: value[part] | {name: "administrator"}}, NOW)
