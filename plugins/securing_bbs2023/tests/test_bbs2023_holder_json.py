"""The holder of a derived proof writes the JSON: member names and nesting are not signed, statements are (VC Data Integrity BBS 1.0 §3.4).

Each test changes JSON only, so that the proof still verifies. The result must be that of the unchanged document.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from identity_securing_bbs2023 import Bbs2023
from test_bbs2023_conformance import ISSUER
from test_bbs2023_hostile import KEY, TERMS, VC, issue

from identity_core.errors import InvalidCredential

ID = "urn:uuid:6b1d6f2c-6f4c-4a3c-9d0b-2f4e5a6b7c8d"
MODEL = "https://www.w3.org/2018/credentials#"
NICKNAME = "https://www.w3.org/ns/credentials/undefined-term#nickname"
STATUS = {
    "id": "https://issuer.example/status/3#94567",
    "type": "BitstringStatusListEntry",
    "statusPurpose": "revocation",
    "statusListIndex": "94567",
    "statusListCredential": "https://issuer.example/status/3",
}
CLAIMS: dict[str, Any] = {
    "@context": [VC, TERMS],
    "id": ID,
    "type": ["VerifiableCredential"],
    "issuer": ISSUER,
    "validUntil": "2026-06-01T00:00:00Z",
    "credentialStatus": STATUS,
    "credentialSubject": {"nickname": "administrator", "about": {"id": ID}, "age": 41, "tall": True, "height": 1.72},
}


@pytest.fixture(scope="module")
def bbs() -> Bbs2023:
    return Bbs2023()


@pytest.fixture(scope="module")
def disclosed(bbs: Bbs2023) -> dict[str, Any]:
    pointers = ["/credentialSubject", "/credentialStatus", "/validUntil"]
    found = bbs.derive(issue(bbs, CLAIMS), KEY.public_key, pointers=pointers)
    assert isinstance(found, dict)
    return found


def renamed_by_context(disclosed: dict[str, Any]) -> dict[str, Any]:
    context = [*disclosed["@context"], {"stamp": f"{MODEL}credentialStatus"}]
    return {**remove_members(disclosed, "credentialStatus"), "@context": context, "stamp": STATUS}


def renamed_to_iri(disclosed: dict[str, Any]) -> dict[str, Any]:
    return {**remove_members(disclosed, "credentialStatus"), f"{MODEL}credentialStatus": STATUS}


def moved_into_subject(disclosed: dict[str, Any]) -> dict[str, Any]:
    """RDF has one node for each id, wherever JSON writes it."""
    inner = {"id": ID, "type": "VerifiableCredential", "credentialStatus": STATUS, "validUntil": CLAIMS["validUntil"]}
    subject = {**CLAIMS["credentialSubject"], "about": inner}
    return {**remove_members(disclosed, "credentialStatus", "validUntil"), "credentialSubject": subject}


def remove_members(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: part for name, part in document.items() if name not in names}


REWRITTEN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    one.__name__: one for one in (renamed_by_context, renamed_to_iri, moved_into_subject)
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_status_and_validity_survive_renaming(bbs: Bbs2023, disclosed: dict[str, Any], name: str) -> None:
    """Correct: the credential still has its status and its end (VC 2.0 §4.9, §4.10)."""
    plain = bbs.verify(disclosed, KEY.public_key)
    found = bbs.verify(REWRITTEN[name](disclosed), KEY.public_key)
    assert found.claims["credentialStatus"] == STATUS
    assert found.claims["validUntil"] == "2026-06-01T00:00:00Z"
    assert found.head == plain.head
    assert found.head.valid_until is not None


def test_claim_renamed_by_inline_context_keeps_its_meaning(bbs: Bbs2023, disclosed: dict[str, Any]) -> None:
    """Signed is ``nickname``; ``role`` is a term that the holder defined (VC Data Integrity 1.0, "Context Injection")."""
    context = [*disclosed["@context"], {"role": NICKNAME}]
    subject = {**remove_members(disclosed["credentialSubject"], "nickname"), "role": "administrator"}
    found = bbs.verify({**disclosed, "@context": context, "credentialSubject": subject}, KEY.public_key)
    assert found.claims["credentialSubject"] == CLAIMS["credentialSubject"]
    assert found.claims["@context"] == [VC, TERMS]
    assert found.warnings


def test_term_of_issuers_inline_context_is_returned_as_iri(bbs: Bbs2023) -> None:
    """The name is not signed, its IRI is; the claim is not lost."""
    claims = {**CLAIMS, "@context": [VC, {"berth": "https://issuer.example/terms#berth"}]}
    claims["credentialSubject"] = {"berth": "7"}
    derived = bbs.derive(issue(bbs, claims), KEY.public_key, pointers=["/credentialSubject"])
    found = bbs.verify(derived, KEY.public_key)
    assert found.claims["credentialSubject"] == {"https://issuer.example/terms#berth": "7"}
    assert len(found.warnings) == 1


def test_claims_are_returned_as_sent_without_inline_context(bbs: Bbs2023, disclosed: dict[str, Any]) -> None:
    found = bbs.verify(disclosed, KEY.public_key)
    assert found.claims == CLAIMS
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("validFrom", "2026-01-01T00:00:00Z"),
        ("validUntil", "2026-06-01T00:00:00Z"),
        ("credentialStatus", STATUS),
        ("credentialSchema", {"id": "https://issuer.example/schema", "type": "JsonSchema"}),
        ("termsOfUse", {"id": "https://issuer.example/terms", "type": "IssuerPolicy"}),
        ("issuer", {"id": ISSUER, "name": "Ivo"}),
    ],
)
def test_holder_cannot_hide_what_limits_the_credential(bbs: Bbs2023, name: str, value: Any) -> None:
    """Input: an issuer that names no mandatory pointers, and a holder that discloses a claim only."""
    issued = issue(bbs, {**CLAIMS, name: value})
    derived = bbs.derive(issued, KEY.public_key, pointers=["/credentialSubject/age"])
    assert bbs.verify(derived, KEY.public_key).claims[name] == value


def test_status_that_is_text_is_refused(bbs: Bbs2023) -> None:
    """VC 2.0 §4.10: an object. A text would keep the IRI as its name, which no check of a status looks for."""
    claims = {**remove_members(CLAIMS, "credentialStatus"), f"{MODEL}credentialStatus": "revoked"}
    derived = bbs.derive(issue(bbs, claims), KEY.public_key, pointers=[""])
    with pytest.raises(InvalidCredential):
        bbs.verify(derived, KEY.public_key)


def test_two_credentials_that_name_each_other_are_refused(bbs: Bbs2023) -> None:
    """The holder could begin the JSON with either of them, and have the other's status overlooked."""
    other = {"id": "urn:other", "type": "VerifiableCredential", "about": {"id": ID}}
    claims = {**remove_members(CLAIMS, "credentialStatus"), "credentialSubject": {"holds": other}}
    derived = bbs.derive(issue(bbs, claims), KEY.public_key, pointers=[""])
    with pytest.raises(InvalidCredential):
        bbs.verify(derived, KEY.public_key)


def test_tree_of_shared_objects_is_bounded(bbs: Bbs2023) -> None:
    """Twelve objects, each named twice by the one before: 4,096 places in a tree, 24 statements in a graph."""
    nested: Any = {"id": "urn:n:12", "end": 1}
    for number in range(11, -1, -1):
        nested = {"id": f"urn:n:{number}", "left": {"id": f"urn:n:{number + 1}"}, "right": nested}
    derived = bbs.derive(issue(bbs, {**CLAIMS, "credentialSubject": nested}), KEY.public_key, pointers=[""])
    with pytest.raises(InvalidCredential) as refused:
        bbs.verify(derived, KEY.public_key)
    assert "values" in json.dumps(refused.value.details)
