"""Documents of others are shown whole, or not at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_did_ids import foreign

from identity_core.api import caching
from identity_core.api.caching import RESOLUTION_MEDIA, resolution
from identity_core.api.contract import load_document
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDocument
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from tests.foreign_documents import ALLOWED, REFUSED, document_of

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DID = Did.parse("did:web:a.example")
SCHEMAS = load_document().value["components"]["schemas"]


def state_of(**members: Any) -> dict[str, Any]:
    return {"@context": ["https://www.w3.org/ns/did/v1"], "id": str(DID)} | members


def test_the_document_is_kept_whole_and_trusted_in_nothing() -> None:
    key = {"id": "#k", "type": "Multikey", "controller": "x", "publicKeyMultibase": "z6Mk", "extra": [1]}
    members = state_of(verificationMethod=[key], authentication=["#k"], any={"deep": [None, 1.5]})
    state = foreign.build_foreign_state(DID, members, AT)
    assert state.document.to_json() == members
    assert json.loads(state.document.encoded) == members
    assert history.authentication_keys(state, AT) == ()
    assert (state.version_id, state.created_at, state.updated_at, state.deactivated) == (1, AT, AT, False)


def test_another_document_is_another_entity() -> None:
    tags = set()
    for members in (state_of(), state_of(alsoKnownAs=["urn:x"])):
        state = foreign.build_foreign_state(DID, members, AT)
        found = Resolution(IndexedVersion(state, None), False, None, 1, None, None)
        tags |= {resolution(found, media, 0, ResolveDidQuery(), AT).etag for media in RESOLUTION_MEDIA}
    assert len(tags) == 2 * len(RESOLUTION_MEDIA)


TEXTS = st.one_of(st.text(max_size=3), st.integers(0, 1), st.none(), st.lists(st.text(max_size=2), max_size=2))
ITEMS = st.one_of(
    TEXTS,
    st.dictionaries(
        st.sampled_from(("id", "type", "controller", "publicKeyMultibase", "serviceEndpoint", "x")), TEXTS, max_size=6
    ),
    st.fixed_dictionaries(
        {name: st.text(max_size=2) for name in ("id", "type", "controller", "publicKeyMultibase", "serviceEndpoint")}
    ),
)
NAMES = (
    "@context",
    "controller",
    "alsoKnownAs",
    "verificationMethod",
    "authentication",
    "keyAgreement",
    "service",
    "x",
)


def valid(name: str, value: Any) -> bool:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}}
    return bool(jsonschema.Draft4Validator(schema).is_valid(value))


@given(st.dictionaries(st.sampled_from(NAMES), st.one_of(TEXTS, st.lists(ITEMS, max_size=2)), max_size=4))
def test_accepted_input_matches_the_interface(members: dict[str, Any]) -> None:
    try:
        foreign.build_foreign_state(DID, state_of(**members), AT)
    except InvalidDocument:
        return
    assert valid("ResolvedDidDocument", state_of(**members))


SHAPES = {"document": "ResolvedDidDocument", "result": "W3cDidResolution"}


@pytest.mark.parametrize("name", ALLOWED)
def test_an_allowed_form_is_shown_in_every_media_type(name: str) -> None:
    members = document_of(str(DID), ALLOWED[name])
    state = foreign.build_foreign_state(DID, members, AT)
    result = Resolution(IndexedVersion(state, None), False, None, 1, None, None)
    for media in RESOLUTION_MEDIA:
        answer = resolution(result, media, 0, ResolveDidQuery(), AT).answer
        body = json.loads(answer.body)
        schema = SHAPES.get(caching.SHAPES[media], "DidResolution")
        assert valid(schema, body), (media, schema)
        assert members in (body, body.get("didDocument"), body.get("content"))


@pytest.mark.parametrize("name", REFUSED)
def test_no_other_form_is_taken(name: str) -> None:
    with pytest.raises(InvalidDocument):
        foreign.build_foreign_state(DID, document_of(str(DID), REFUSED[name]), AT)


def test_the_document_of_another_did_is_refused() -> None:
    with pytest.raises(InvalidDocument):
        foreign.build_foreign_state(DID, state_of(id="did:web:b.example"), AT)
