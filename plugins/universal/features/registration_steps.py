"""Clients of the DIF Universal Registrar, which know nothing of this service but its paths, and sign what the service requests."""

from __future__ import annotations

import base64
import json
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.document import Operation, operation
from features.formats import KeyPair, base64url, new_key, raw_key, sign
from features.steps.answers import body_of
from features.world import DRAFTS, Draft, World

CREATE, UPDATE, DEACTIVATE = "registerDid", "registerDidUpdate", "registerDidDeactivation"
OWN = {"clientSecretMode": True}
SERVICE = {"id": "#files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
ABSENT = "did:ids:Qm" + "a" * 44


def creation(world: World, body: dict[str, Any], method: str = "ids") -> Draft:
    found = operation(CREATE)
    return Draft(found, found.path, {"method": method}, world.key_header(), body)


def beginning(operation_id: str, did: str, change: dict[str, Any] | None = None) -> Draft:
    """The first request of a job."""
    found = operation(operation_id)
    wished = change or {"didDocumentOperation": ["addToDidDocument"], "didDocument": [{"service": [SERVICE]}]}
    body = {"did": did, "options": OWN, **(wished if operation_id == UPDATE else {})}
    return Draft(found, found.path, body=body)


def signed(world: World, first: Draft, secret: str) -> Draft:
    """The second request, after the first was answered."""
    answer = world.send(first)
    if answer.status_code != 200:
        raise RuntimeError(f"nothing to sign: {answer.content!r}")
    asked = answer.json()
    ((name, wanted),) = asked["didState"]["signingRequest"].items()
    data = sign(secret, base64.b64decode(wanted["serializedPayload"]))
    response = {name: {"signature": base64.b64encode(data).decode(), "kid": wanted["kid"], "alg": wanted["alg"]}}
    body = {"did": first.body["did"], "options": OWN, "jobId": asked["jobId"], "secret": {"signingResponse": response}}
    return Draft(first.operation, first.path, body=body)


def change_draft(world: World, found: Operation) -> Draft:
    person = world.new_person("Hana")
    return signed(world, beginning(found.operation_id, person.did), person.secrets["authentication"])


DRAFTS[CREATE] = lambda world, found: creation(world, {})
DRAFTS[UPDATE] = change_draft
DRAFTS[DEACTIVATE] = change_draft


def public(key: KeyPair) -> dict[str, Any]:
    method = {"type": key.type, "purpose": ["authentication"], "publicKeyMultibase": key.public}
    return {"verificationMethod": [method]}


# Given


@given("a client that keeps its keys has begun to create a DID")
def begun(world: World) -> None:
    world.notes["job"] = world.send(creation(world, {"options": OWN})).json()["jobId"]


@given("a registrar has registered a did:key")
def has_registered(world: World) -> None:
    world.notes["own"] = creation(world, {"options": OWN, "secret": public(new_key())}, "key")
    assert world.send(world.notes["own"]).status_code == 201


# When


@when("a stock registrar creates a DID")
def stock(world: World) -> None:
    body = {"jobId": None, "options": {}, "secret": {}, "didDocument": {"service": [SERVICE]}}
    world.answer = world.http().post("/1.0/create?method=ids", json=body, headers=world.key_header())


@when("a client that keeps its keys creates a DID")
def keeps(world: World) -> None:
    world.send(creation(world, {"options": OWN}))


def jwk_method(world: World) -> dict[str, Any]:
    """A new key of the client's own, as a JWK."""
    world.notes["own"] = own = new_key()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64url(raw_key(own.public))}
    return {"id": "#k", "type": "JsonWebKey2020", "publicKeyJwk": jwk}


@when("it brings a key as a JWK")
def brings_jwk(world: World) -> None:
    secret = {"verificationMethod": [jwk_method(world) | {"purpose": ["authentication"]}]}
    world.send(creation(world, {"jobId": world.notes["job"], "options": OWN, "secret": secret}))


@when("it brings a private JWK")
def brings_private(world: World) -> None:
    key = jwk_method(world)
    secret = {"verificationMethod": [key | {"publicKeyJwk": key["publicKeyJwk"] | {"d": "A" * 43}}]}
    world.send(creation(world, {"jobId": world.notes["job"], "options": OWN, "secret": secret}))


@when("it brings a key without its bytes")
def brings_nothing(world: World) -> None:
    secret = {"verificationMethod": [{"type": new_key().type}]}
    world.send(creation(world, {"jobId": world.notes["job"], "options": OWN, "secret": secret}))


@when("a client that keeps its keys creates a DID with a JWK in the document")
def document_jwk(world: World) -> None:
    document = {"verificationMethod": [jwk_method(world)], "authentication": ["#k"]}
    world.send(creation(world, {"options": OWN, "didDocument": document}))


@when("it brings a key")
def brings(world: World) -> None:
    world.notes["own"] = new_key()
    body = {"jobId": world.notes["job"], "options": OWN, "secret": public(world.notes["own"])}
    world.send(creation(world, body))


@when(parsers.parse("a registrar creates a DID of the method {method}"))
def of_method(world: World, method: str) -> None:
    world.send(creation(world, {}, method))


@when("a registrar creates a DID that it has named itself")
def named(world: World) -> None:
    world.send(creation(world, {"didDocument": {"id": ABSENT}}))


@when("the registrar registers the same did:key again")
def again(world: World) -> None:
    world.send(world.notes["own"])


@when(parsers.parse("a registrar begins {operation_id} for {which}"))
def begins(world: World, operation_id: str, which: str) -> None:
    dids = {
        "an unregistered DID": ABSENT,
        "the DID of Hana": world.people["Hana"].did if "Hana" in world.people else "",
    }
    world.send(beginning(operation_id, dids.get(which, which.removeprefix("the DID "))))


@given(parsers.parse("{name:w} does {operation_id} as a registrar does"))
@when(parsers.parse("{name:w} does {operation_id} as a registrar does"))
def does(world: World, name: str, operation_id: str) -> None:
    person = world.person(name)
    world.notes["second"] = signed(world, beginning(operation_id, person.did), person.secrets["authentication"])
    world.send(world.notes["second"])


@when("the second request of the job is sent again")
def repeated(world: World) -> None:
    world.send(world.notes["second"])


@when(parsers.parse("Mallory signs the job of {operation_id} for the DID of {name}"))
def mallory(world: World, operation_id: str, name: str) -> None:
    world.send(signed(world, beginning(operation_id, world.person(name).did), new_key().secret))


@when(parsers.parse("{name:w} signs the job of {operation_id} that takes a key away with the old key"))
def with_old_key(world: World, name: str, operation_id: str) -> None:
    person = world.person(name)
    old = person.created["keys"]["authentication"]["keyId"]
    removal = {
        "didDocumentOperation": ["removeFromDidDocument"],
        "didDocument": [{"verificationMethod": [{"id": old}]}],
    }
    world.send(signed(world, beginning(operation_id, person.did, removal), person.secrets["old"]))


@when("a registrar leaves it to the service to sign")
def send_unsigned(world: World) -> None:
    first = beginning(UPDATE, world.person("Hana").did)
    first.body["options"] = {}
    world.send(first)


# Then


@then("every change of the DID must be bound to purpose and body")
def strictly(world: World) -> None:
    log = world.call("getDidLog", did=body_of(world.answer)["didState"]["did"]).content
    assert json.loads(log.splitlines()[0])["parameters"]["change"]["strictEvidence"] is True


@then(parsers.re(r"the state is (?P<state>finished|failed)( as (?P<error>\w+))?"))
def state_is(world: World, state: str, error: str | None) -> None:
    body = body_of(world.answer)
    assert (body["jobId"], body["didState"]["state"]) == (None, state)
    assert body["didState"].get("error") == error
    if state == "failed":
        assert body["didState"]["reason"] == body["error"]["message"]
        assert body["didRegistrationMetadata"]["code"] == body["error"]["code"]


@then(parsers.parse("the action is {action}"))
def action_is(world: World, action: str) -> None:
    body = body_of(world.answer)
    assert (body["didState"]["state"], body["didState"]["action"]) == ("action", action)
    assert body["jobId"]


@then("the state holds a private key of the DID")
def holds_key(world: World) -> None:
    state = body_of(world.answer)["didState"]
    (key,) = state["secret"]["verificationMethod"]
    assert key["id"] in state["didDocument"]["authentication"]
    assert state["didDocument"]["service"][0]["id"] == f"{state['did']}#files"
    assert sign(key["privateKeyMultibase"], b"")
    assert world.answer.headers["cache-control"] == "no-store"


@then("the document has the key that was brought, and the answer no private one")
def has_own(world: World) -> None:
    state = body_of(world.answer)["didState"]
    assert [m["publicKeyMultibase"] for m in state["didDocument"]["verificationMethod"]] == [world.notes["own"].public]
    assert "secret" not in state


@then(parsers.parse("the document in the state has the service {fragment}"))
def has_service(world: World, fragment: str) -> None:
    state = body_of(world.answer)["didState"]
    assert [service["id"] for service in state["didDocument"]["service"]] == [f"{state['did']}#{fragment}"]
    assert world.call("resolveDid", did=state["did"]).parsed.did_document_metadata.version_id == 2
