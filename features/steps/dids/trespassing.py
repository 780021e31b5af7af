"""Steps of changes that another DID signs, that use another scheme, or that are sent twice."""

from __future__ import annotations

import json
import os
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.formats import DID_AUTH, RECOVERY_KEY, new_key, signed_by_specification
from features.steps.answers import body_of
from features.steps.dids.changing import BODIES, STRICT, body_for
from features.world import PURPOSES, Draft, World
from identity_client import Signer, hash_body

# Given


@given(parsers.parse("{name} has a DID with strict evidence"))
def with_strict_evidence(world: World, name: str) -> None:
    world.new_person(name, {"strictEvidence": True})


# When


@when(parsers.parse("{name} sends the same signature of {operation_id} again"))
def replays(world: World, name: str, operation_id: str) -> None:
    person = world.person(name)
    body = body_for(world, name, operation_id)
    headers = world.signed(
        person, operation_id, body, key="recovery" if operation_id == "recoverDid" else "authentication"
    )
    model = world.model(BODIES[operation_id], body)
    world.call(operation_id, headers=headers, did=person.did, body=model)
    world.call(operation_id, headers=headers, did=person.did, body=model)


@when(parsers.parse("Mallory signs {operation_id} for the DID of {name} with her own"))
def mallory(world: World, operation_id: str, name: str) -> None:
    person, thief = world.person(name), world.new_person("Mallory")
    body = body_for(world, name, operation_id)
    headers = world.signed(
        thief, operation_id, body, key="recovery" if operation_id == "recoverDid" else "authentication"
    )
    world.call(operation_id, headers=headers, did=person.did, body=world.model(BODIES[operation_id], body))


@when(parsers.parse("{name} signs {operation_id} with the {key} key under the other scheme"))
def crossed(world: World, name: str, operation_id: str, key: str) -> None:
    person = world.person(name)
    body = body_for(world, name, operation_id)
    digest, purpose = hash_body(body), PURPOSES[operation_id]
    text = world.challenge(person.did, purpose=purpose, body_hash=digest)
    scheme = RECOVERY_KEY if operation_id == "recoverDid" else DID_AUTH
    header = Signer(person.did, person.secrets[key]).header(text, purpose=purpose, digest=digest, scheme=scheme)
    model = world.model(BODIES[operation_id], body)
    world.call(operation_id, headers={"Authorization": header}, did=person.did, body=model)


@when(parsers.parse("{name} sends {operation_id} with a signature that is bound to {what}"))
def loosely_bound(world: World, name: str, operation_id: str, what: str) -> None:
    send_loosely_bound(world, name, operation_id, body_for(world, name, operation_id), what)


@when(parsers.parse("{name} requires strict evidence with a signature that is bound to {what}"))
def loosely_strict(world: World, name: str, what: str) -> None:
    send_loosely_bound(world, name, "updateDid", STRICT, what)


def send_loosely_bound(world: World, name: str, operation_id: str, body: Any, what: str) -> None:
    bound = {}
    if what == "the purpose alone":
        bound["purpose"] = PURPOSES[operation_id]
    if what == "the body alone":
        bound["body_hash"] = hash_body(body)
    send_by_specification(world, name, operation_id, body, **bound)


@when(parsers.parse("{name} asks with a plain challenge to {what}"))
def asks_plainly(world: World, name: str, what: str) -> None:
    key = new_key()
    method = {"type": key.type, "publicKeyMultibase": key.public}
    added = {"operation": "addVerificationMethod", "verificationMethod": method, "relationships": ["authentication"]}
    service = {"id": "#files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    bodies = {
        "add a service": {"operation": "addService", "service": service},
        "add a key": added,
        "remove a key": {"operation": "removeVerificationMethod", "keyId": f"{world.person(name).did}#{key.public}"},
    }
    if what == "remove a key":
        # The last authentication key stays, so another one joins first.
        send_by_specification(world, name, "updateDid", added)
    send_by_specification(world, name, "updateDid", bodies[what])


def send_by_specification(world: World, name: str, operation_id: str, body: Any, **bound: str) -> None:
    """Send an operation as a client does that knows the specification alone: it signs the text that the service offers."""
    person = world.person(name)
    key, scheme = ("recovery", RECOVERY_KEY) if operation_id == "recoverDid" else ("authentication", DID_AUTH)
    header = signed_by_specification(person.did, person.secrets[key], world.challenge(person.did, **bound), scheme)
    model = world.model(BODIES[operation_id], body)
    world.call(operation_id, headers={"Authorization": header}, did=person.did, body=model)


@when(parsers.parse("{operation_id} is sent again while the first is being answered"))
def concurrent(world: World, operation_id: str) -> None:
    key = os.urandom(8).hex()
    draft = world.draft(operation_id)
    draft.headers["Idempotency-Key"] = key
    second = None
    if operation_id in PURPOSES:
        person = world.people["Aki" if operation_id == "createConsentRequest" else "Hana"]
        which = "recovery" if operation_id == "recoverDid" else "authentication"
        second = world.signed(person, operation_id, draft.body, key=which)
    again = Draft(draft.operation, draft.path, draft.query, draft.headers | (second or {}), draft.body)
    world.send_meanwhile(draft, again)


# Then


@then(parsers.parse("the DID of {name} has {count:d} unbound change in version {version:d}"))
def unbound(world: World, name: str, count: int, version: int) -> None:
    metadata = body_of(world.call("resolveDid", did=world.person(name).did))["didDocumentMetadata"]
    assert (metadata["versionId"], metadata["unboundChanges"]) == (version, count)
    newest = body_of(world.call("listDidHistory", did=world.person(name).did))["items"][-1]
    assert newest["changes"] == ["strictEvidenceBegun"]


@then(parsers.parse("a plain challenge of {name} changes the DID no more"))
def no_more(world: World, name: str) -> None:
    send_by_specification(world, name, "updateDid", body_for(world, name, "updateDid"))
    assert world.answer.status_code == 401


@then(parsers.parse("the log proves strict evidence from version {version:d} on"))
def begins(world: World, version: int) -> None:
    log = world.call("getDidLog", did=world.people["Hana"].did).content
    changes = [json.loads(line)["parameters"]["change"] for line in log.splitlines()]
    assert [number for number, change in enumerate(changes, 1) if "strictEvidence" in change] == [version]
    assert changes[version - 1]["authorization"]["body"] == STRICT
