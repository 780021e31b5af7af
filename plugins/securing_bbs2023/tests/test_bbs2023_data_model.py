"""Credentials that an issuer signed, and that are none of the data model (VC 2.0 §4, §5): the proof is right, the form is not."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from identity_securing_bbs2023 import Bbs2023, data_model
from identity_securing_bbs2023 import __name__ as package
from test_bbs2023_holder_json import CLAIMS, STATUS, remove_members
from test_bbs2023_hostile import KEY, VC, issue

from identity_codec import multibase
from identity_core.errors import InvalidCredential

PUBLISHED = data_model.PUBLISHED[VC]
RESOURCE = {"id": VC, "digestSRI": "sha256-" + base64.b64encode(PUBLISHED).decode()}
OTHER = hashlib.sha256(b"another context").digest()
GOOD: dict[str, dict[str, Any]] = {
    "as it is": {},
    "several subjects": {"credentialSubject": [{"nickname": "a"}, {"nickname": "b"}]},
    "an issuer object": {"issuer": {"id": CLAIMS["issuer"], "name": "Ivo"}},
    "a schema": {"credentialSchema": {"id": "https://x.example/s", "type": "JsonSchema"}},
    "two states": {"credentialStatus": [STATUS, {"type": "Elsewhere"}]},
    "the digest of a context": {"relatedResource": RESOURCE},
    "another hash of a context": {"relatedResource": {"id": VC, "digestSRI": "sha384-AAAA"}},
    "a resource that is not fetched": {"relatedResource": {"id": "https://x.example/r", "digestMultibase": "uEiA"}},
    "the digest as multibase": {
        "relatedResource": {"id": VC, "digestMultibase": "u" + multibase.base64url_encode(b"\x12\x20" + PUBLISHED)}
    },
}
BAD: dict[str, dict[str, Any]] = {
    "no subject": {"credentialSubject": None},
    "a subject without a claim": {"credentialSubject": {}},
    "a subject that is a text": {"credentialSubject": "did:web:hana.example"},
    "a schema without a type": {"credentialSchema": {"id": "https://x.example/s"}},
    "a schema without an id": {"credentialSchema": {"type": "JsonSchema"}},
    "a status without a type": {"credentialStatus": {"id": "https://x.example/1"}},
    "terms without a type": {"termsOfUse": {"id": "https://x.example/t"}},
    "evidence without a type": {"evidence": {"id": "https://x.example/e"}},
    "a service without a type": {"refreshService": {"id": "https://x.example/r"}},
    "an end before the begin": {"validFrom": "2026-07-01T00:00:00Z"},
    "a resource without a digest": {"relatedResource": {"id": VC}},
    "a wrong digest": {"relatedResource": {"id": VC, "digestSRI": "sha256-" + base64.b64encode(OTHER).decode()}},
    "a wrong multibase digest": {
        "relatedResource": {"id": VC, "digestMultibase": "u" + multibase.base64url_encode(b"\x12\x20" + OTHER)}
    },
    "one right digest and a wrong one": {"relatedResource": [RESOURCE, {**RESOURCE, "digestSRI": "sha256-AAAA"}]},
}


@pytest.fixture(scope="module")
def bbs() -> Bbs2023:
    return Bbs2023()


def changed(change: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**CLAIMS, **change}.items() if value is not None}


@pytest.mark.parametrize("name", GOOD)
def test_credential_of_the_data_model_is_accepted(bbs: Bbs2023, name: str) -> None:
    derived = bbs.derive(issue(bbs, changed(GOOD[name])), KEY.public_key, pointers=[""])
    assert bbs.verify(derived, KEY.public_key).claims["issuer"]


@pytest.mark.parametrize("name", BAD)
def test_other_credential_is_neither_issued_nor_accepted(
    bbs: Bbs2023, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An issuer elsewhere signs it, and a holder elsewhere derives a proof."""
    with pytest.raises(InvalidCredential):
        issue(bbs, changed(BAD[name]))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(f"{package}.check_members", lambda document: None)
        derived = bbs.derive(issue(bbs, changed(BAD[name])), KEY.public_key, pointers=[""])
    with pytest.raises(InvalidCredential):
        bbs.verify(derived, KEY.public_key)


def test_holder_discloses_something_of_the_subject(bbs: Bbs2023) -> None:
    with pytest.raises(InvalidCredential):
        bbs.derive(issue(bbs, CLAIMS), KEY.public_key, pointers=[])


@pytest.mark.parametrize(
    "change",
    [
        {"created": "yesterday"},
        {"created": "2026-01-01"},
        {"expires": "never"},
        {"created": "2026-01-02T00:00:00Z", "expires": "2026-01-01T00:00:00Z"},
        {"previousProof": "urn:uuid:6b1d6f2c-6f4c-4a3c-9d0b-2f4e5a6b7c8e"},
    ],
)
def test_proof_with_an_option_of_another_form_is_refused(bbs: Bbs2023, change: dict[str, str]) -> None:
    """VC Data Integrity 1.0, "Proofs": ``created`` and ``expires`` are times; a proof before this one would have to be verified first."""
    secured = issue(bbs, CLAIMS)
    with pytest.raises(InvalidCredential):
        bbs.read({**secured, "proof": {**secured["proof"], **change}})


def test_every_reserved_member_is_in_the_table() -> None:
    reserved = {
        "id",
        "issuer",
        "name",
        "description",
        "validFrom",
        "validUntil",
        "credentialSubject",
        "credentialStatus",
    }
    reserved |= {"credentialSchema", "refreshService", "termsOfUse", "evidence", "relatedResource"}
    assert data_model._MEMBERS.keys() == reserved
    assert remove_members(CLAIMS, *reserved).keys() == {"@context", "type"}
