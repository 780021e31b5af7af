"""DIF DID Registration's changes of a document: what comes out is a body of updateDid that has exactly the wished effect, or a refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from identity_did_ids.revision import Revision
from identity_kit.conformance.controller import Controller
from identity_universal.registration_update import ADD, REMOVE, SET, update_body

from identity_codec.structs import convert, plain
from identity_core.domain.dids import document as documents
from identity_core.domain.dids import requests
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    NewService,
    RemoveService,
    RemoveVerificationMethod,
    SetAlsoKnownAs,
    UpdateService,
)
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import InvalidDocument, InvalidRequest
from identity_core.wire import UpdateDidRequest

DID = "did:ids:QmZVXud7T8h7qtJnoSA4jFk4o37z7nZFWQaiEfrNbZ5Mw7"
HANA = Controller("registration")
ED, X, NEW = HANA.new_key(), HANA.new_key("X25519KeyAgreementKey2020"), HANA.new_key()
SECRET = "z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"


def _document() -> DidDocument:
    revision = Revision.from_document(DidDocument(DID, (), ()))
    for key in (ED, X):
        revision.add_key(key)
    revision.add_service(NewService("LinkedDomains", "https://a.example/", "web"))
    revision.add_service(NewService("LinkedDomains", "https://b.example/", "box"))
    revision.also_known_as = ("https://hana.example/",)
    return revision.document()


NOW = _document()
ED_ID, X_ID, NEW_ID = (f"{DID}#{key.public}" for key in (ED, X, NEW))
METHOD = {"id": NEW_ID, "type": NEW.type, "controller": DID, "publicKeyMultibase": NEW.public}
SERVICE = {"id": f"{DID}#files", "type": "LinkedDomains", "serviceEndpoint": "https://files.example/"}


def applied(body: dict[str, Any]) -> dict[str, Any]:
    """The document after the body, which the schema of updateDid lets through."""
    assert plain(convert(body, UpdateDidRequest)) == body
    revision = Revision.from_document(NOW)
    for operation in requests.operations(body, DID):
        match operation:
            case AddService(service):
                revision.add_service(service)
            case UpdateService(service):
                revision.update_service(service)
            case RemoveService(fragment):
                revision.remove_service(fragment)
            case AddVerificationMethod(key):
                revision.add_key(key)
            case RemoveVerificationMethod(key_id):
                revision.remove_key(key_id)
            case SetAlsoKnownAs(names):
                revision.also_known_as = names
    found = revision.document()
    documents.check(found)
    return found.to_json()


def _wish(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    wished = copy.deepcopy(NOW.to_json())
    change(wished)
    return wished


def _replace_key(wished: dict[str, Any]) -> None:
    wished["verificationMethod"] = [wished["verificationMethod"][0], METHOD]
    del wished["keyAgreement"]
    wished["assertionMethod"] = [ED_ID, NEW_ID]


WISHES = [
    _wish(lambda wished: wished["service"].append(SERVICE)),
    _wish(lambda wished: wished["service"].pop(0)),
    _wish(lambda wished: wished.pop("service")),
    _wish(lambda wished: wished["service"][1].update(serviceEndpoint="https://c.example/")),
    _wish(lambda wished: wished.update(alsoKnownAs=["https://hana.example/", "did:web:hana.example"])),
    _wish(lambda wished: wished.pop("alsoKnownAs")),
    _wish(_replace_key),
]


@pytest.mark.parametrize("wished", WISHES)
def test_a_whole_document_is_what_comes_out(wished: dict[str, Any]) -> None:
    found = applied(update_body(NOW, [SET], [wished]))
    assert found | {"@context": 0} == wished | {"@context": 0}


def test_only_what_differs_is_asked_for() -> None:
    wished = _wish(lambda wished: wished["service"][1].update(serviceEndpoint="https://c.example/"))
    assert update_body(NOW, [SET], [wished]) == {
        "operations": [{"operation": "updateService", "service": wished["service"][1]}]
    }


def test_parts_are_added_and_removed_in_one_version() -> None:
    more = {"verificationMethod": [METHOD], "authentication": [f"#{NEW.public}"], "service": [SERVICE]}
    less = {"service": [{"id": "#web"}], "verificationMethod": [{"id": X_ID}], "alsoKnownAs": ["https://hana.example/"]}
    found = applied(update_body(NOW, [ADD, REMOVE], [more, less]))
    assert [method["id"] for method in found["verificationMethod"]] == [ED_ID, NEW_ID]
    assert found["authentication"] == [ED_ID, NEW_ID]
    assert [service["id"] for service in found["service"]] == [f"{DID}#box", f"{DID}#files"]
    assert "keyAgreement" not in found
    assert "alsoKnownAs" not in found


def test_a_whole_document_without_anything_takes_everything_away() -> None:
    operations = [operation["operation"] for operation in update_body(NOW, [SET], [{}])["operations"]]
    assert operations == [*["removeService"] * 2, *["removeVerificationMethod"] * 2, "setAlsoKnownAs"]


def test_added_and_removed_key_leaves_no_change() -> None:
    both = [{"service": [SERVICE], "alsoKnownAs": ["did:web:x.example"]}, {"service": [{"id": SERVICE["id"]}]}]
    body = update_body(NOW, [ADD, REMOVE], both)
    assert [operation["operation"] for operation in body["operations"]] == ["setAlsoKnownAs"]


def test_a_key_without_relationships_gets_those_of_its_type() -> None:
    proven = METHOD | {"proofOfPossession": "AAAA"}
    (operation,) = update_body(NOW, [ADD], [{"verificationMethod": [proven]}])["operations"]
    assert operation == {
        "operation": "addVerificationMethod",
        "verificationMethod": {"type": NEW.type, "publicKeyMultibase": NEW.public, "proofOfPossession": "AAAA"},
    }


OTHER = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
IMPOSSIBLE: list[tuple[str, Any]] = [
    (SET, None),
    (SET, []),
    (SET, _wish(lambda wished: wished.update(id=OTHER))),
    (SET, _wish(lambda wished: wished.update(controller=OTHER))),
    (SET, _wish(lambda wished: wished.update(controller=[DID, OTHER]))),
    (SET, _wish(lambda wished: wished.update(surprise=1))),
    (SET, _wish(lambda wished: wished.update(authentication=[]))),
    (SET, _wish(lambda wished: wished["assertionMethod"].append(X_ID))),
    (SET, _wish(lambda wished: wished["verificationMethod"].append(METHOD))),
    (SET, _wish(lambda wished: wished["verificationMethod"].append(wished["verificationMethod"][0]))),
    (SET, _wish(lambda wished: wished["verificationMethod"][0].update(revoked="2027-01-01T00:00:00Z"))),
    (SET, _wish(lambda wished: wished["verificationMethod"][0].update(publicKeyMultibase=NEW.public))),
    (SET, _wish(lambda wished: wished["verificationMethod"][0].update(controller=OTHER))),
    (SET, _wish(lambda wished: wished.update(authentication=[METHOD]))),
    (SET, _wish(lambda wished: wished.update(service={}))),
    (SET, _wish(lambda wished: wished["service"][0].update(serviceEndpoint={"uri": "https://a.example"}))),
    (SET, _wish(lambda wished: wished["service"][0].pop("type"))),
    (ADD, {"service": [NOW.to_json()["service"][0]]}),
    (ADD, {"service": [{**SERVICE, "id": f"{OTHER}#files"}]}),
    (ADD, {"service": [{**SERVICE, "id": "files"}]}),
    (ADD, {"service": [{**SERVICE, "id": 1}]}),
    (ADD, {"verificationMethod": [NOW.to_json()["verificationMethod"][0]]}),
    (ADD, {"verificationMethod": [{**METHOD, "id": "#key-1"}]}),
    (ADD, {"verificationMethod": [{**METHOD, "revoked": "2027-01-01T00:00:00Z"}]}),
    (ADD, {"verificationMethod": [{**METHOD, "privateKeyMultibase": SECRET}]}),
    (ADD, {"keyAgreement": [ED_ID]}),
    (ADD, {"alsoKnownAs": [{}]}),
    (REMOVE, {"service": [{"id": "#absent"}]}),
    (REMOVE, {"service": [{"id": SECRET}]}),
    (REMOVE, {"verificationMethod": [{"id": NEW_ID}]}),
    (REMOVE, {"authentication": [ED_ID]}),
    (REMOVE, {"alsoKnownAs": ["https://absent.example/"]}),
]


@pytest.mark.parametrize(("operation", "value"), IMPOSSIBLE)
def test_impossible_operation_is_refused(operation: str, value: Any) -> None:
    with pytest.raises(InvalidDocument) as refusal:
        update_body(NOW, [operation], [value])
    assert SECRET not in f"{refusal.value} {refusal.value.details}"


@pytest.mark.parametrize(
    ("operations", "values"),
    [
        ([], []),
        ([SET], []),
        ([SET], [NOW.to_json(), NOW.to_json()]),
        ([SET], [NOW.to_json()]),
        ([ADD], [{}]),
        (["deactivate"], [{}]),
        ([SECRET], [{}]),
    ],
)
def test_empty_change_is_refused(operations: list[str], values: list[Any]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        update_body(NOW, operations, values)
    assert SECRET not in f"{refusal.value} {refusal.value.details}"
