"""Holders change, deactivate, rotate and recover their DIDs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.formats import X25519, new_key
from features.steps.answers import body_of
from features.world import Person, World
from identity_client.possession import proof_of_possession

STRICT = {"operation": "setStrictEvidence", "strictEvidence": True}
BODIES = {
    "updateDid": "UpdateDidRequest",
    "deactivateDid": "DeactivateDidRequest",
    "rotateDidKey": "RotateDidKeyRequest",
    "recoverDid": "RecoverDidRequest",
}


def act(world: World, person: Person, operation_id: str, body: Any, *, key: str = "", **more: Any) -> Any:
    """One signed operation on a person's DID through the generated client."""
    chosen = key or ("recovery" if operation_id == "recoverDid" else "authentication")
    model = world.model(BODIES[operation_id], body)
    # What is signed is what the client will send; it writes times in its own way.
    headers = world.signed(person, operation_id, model.to_dict(), key=chosen)
    return world.call(operation_id, headers=headers, did=person.did, body=model, **more)


def in_hours(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def body_for(world: World, name: str, operation_id: str) -> Any:
    return world.body_for(operation_id, world.person(name))


# Given


@given(parsers.parse("{name} has changed the document once"))
def changed_once(world: World, name: str) -> None:
    answer = act(world, world.person(name), "updateDid", body_for(world, name, "updateDid"))
    assert answer.status_code == 200, answer.content


@given(parsers.parse("{name} has deactivated the DID"))
def has_deactivated(world: World, name: str) -> None:
    answer = act(world, world.person(name), "deactivateDid", {"confirm": True, "reason": "over"})
    assert answer.status_code == 200, answer.content


@given(parsers.parse("{name} has rotated the key with a day of grace"))
def has_rotated(world: World, name: str) -> None:
    person = world.person(name)
    body = body_for(world, name, "rotateDidKey") | {"revokeOldAfter": in_hours(24)}
    answer = act(world, person, "rotateDidKey", body)
    assert answer.status_code == 200, answer.content
    person.secrets["old"] = person.secrets["authentication"]
    person.secrets["authentication"] = answer.parsed.new_key.private_key


# When


@when(parsers.re(r"(?P<name>\w+) (?P<operation_id>updateDid|deactivateDid|rotateDidKey|recoverDid)s the DID"))
def acts(world: World, name: str, operation_id: str) -> None:
    act(world, world.person(name), operation_id, body_for(world, name, operation_id))


@when(parsers.parse("{name} asks to {what}"))
def asks(world: World, name: str, what: str) -> None:
    person = world.person(name)
    key_id = person.created["keys"]["authentication"]["keyId"]
    key = new_key()
    service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    agreement = new_key(X25519)
    x25519 = {"type": agreement.type, "publicKeyMultibase": agreement.public}
    method = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": key.public}
    requests: dict[str, tuple[str, Any]] = {
        "add a service": ("updateDid", {"operation": "addService", "service": service}),
        "add a service and sends empty lists": (
            "updateDid",
            {"operation": "addService", "service": service, "relationships": [], "alsoKnownAs": [], "operations": []},
        ),
        "replace the service": ("updateDid", {"operation": "updateService", "service": service | {"id": "didcommmessaging-1"}}),
        "remove the service": ("updateDid", {"operation": "removeService", "serviceId": "didcommmessaging-1"}),
        "add a key": (
            "updateDid",
            {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["authentication"]},
        ),
        "set another name": ("updateDid", {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://hana.example/"]}),
        "add a key and remove the old one": (
            "updateDid",
            {
                "operations": [
                    {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["authentication"]},
                    {"operation": "removeVerificationMethod", "keyId": key_id},
                ]
            },
        ),
        "remove the last authentication key": (
            "updateDid",
            {"operation": "removeVerificationMethod", "keyId": key_id},
        ),
        "require strict evidence": ("updateDid", STRICT),
        "turn strict evidence off": ("updateDid", STRICT | {"strictEvidence": False}),
        "do what no operation does": ("updateDid", {"operation": "levitate"}),
        "deactivate without meaning it": ("deactivateDid", {"confirm": False}),
        "rotate at once": ("rotateDidKey", body_for(world, name, "rotateDidKey")),
        "rotate with a week of grace": (
            "rotateDidKey",
            body_for(world, name, "rotateDidKey") | {"revokeOldAfter": in_hours(24 * 7)},
        ),
        "rotate with a year of grace": (
            "rotateDidKey",
            body_for(world, name, "rotateDidKey") | {"revokeOldAfter": in_hours(24 * 365)},
        ),
        "rotate to an own key": (
            "rotateDidKey",
            body_for(world, name, "rotateDidKey") | {"newPublicKeyMultibase": key.public},
        ),
        "recover to a key that agrees": ("recoverDid", {"newAuthenticationKey": x25519, "revokeAllExistingKeys": True}),
        "recover": ("recoverDid", body_for(world, name, "recoverDid")),
    }  # fmt: skip
    operation_id, body = requests[what]
    act(world, person, operation_id, body)


@when(parsers.parse("{name} {operation_id}s with the tag of another version"))
def stale(world: World, name: str, operation_id: str) -> None:
    act(world, world.person(name), operation_id, body_for(world, name, operation_id), if_match='"7"')


@when(parsers.parse("{name} {operation_id}s with the tag of this version"))
def fresh(world: World, name: str, operation_id: str) -> None:
    act(world, world.person(name), operation_id, body_for(world, name, operation_id), if_match='"1"')


@when(parsers.parse("{name} {operation_id}s with the old key"))
def with_old_key(world: World, name: str, operation_id: str) -> None:
    act(world, world.person(name), operation_id, body_for(world, name, operation_id), key="old")


@when(parsers.parse("{name} removes a key with the old key"))
def removes_with_old_key(world: World, name: str) -> None:
    person = world.person(name)
    body = {"operation": "removeVerificationMethod", "keyId": person.created["keys"]["authentication"]["keyId"]}
    act(world, person, "updateDid", body, key="old")


def made_elsewhere(world: World) -> dict[str, str]:
    """A key pair that signs credentials and is in no document of the story's people."""
    options = {"additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}]}
    pair: dict[str, str] = world.new_person("Keymaker", options).created["keys"]["assertionMethod"]
    return pair


@when(parsers.parse("{name:w} adds a key that signs credentials with {proof}"))
def adds_signing_key(world: World, name: str, proof: str) -> None:
    person = world.person(name)
    key = made_elsewhere(world)
    method = {"type": "Bls12381G2Key2020", "publicKeyMultibase": key["publicKey"]}
    if proof != "no proof":
        whose = person if proof == "its proof" else world.person("Mallory")
        method["proofOfPossession"] = proof_of_possession(whose.did, key["privateKey"])
    body = {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["assertionMethod"]}
    act(world, person, "updateDid", body)


# Then


@then("the details have a remedy and a docUrl that the service serves")
def remedy_and_doc_url(world: World) -> None:
    details = json.loads(world.answer.content)["error"]["details"]
    assert details["remedy"]
    place, _, pointer = details["docUrl"].partition("#")
    found = world.http().get(place).json()
    for member in pointer.split("/")[1:]:
        found = found[member]
    assert found["description"]


@then("the next recovery key is in the answer")
def next_recovery(world: World) -> None:
    assert body_of(world.answer)["keys"]["recovery"]["privateKey"].startswith("z3u2")


@then("the old key stays until then")
def grace(world: World) -> None:
    person = world.people["Hana"]
    end = body_of(world.answer)["gracePeriodEnd"]
    document = body_of(world.call("resolveDid", did=person.did))["didDocument"]
    old = person.created["keys"]["authentication"]["keyId"]
    assert [method.get("revoked") for method in document["verificationMethod"] if method["id"] == old] == [end]
