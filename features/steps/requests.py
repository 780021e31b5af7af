"""Requests that go wrong at the door, for any operation."""

from __future__ import annotations

import os

from pytest_bdd import given, parsers, then, when

from features.formats import DID_AUTH, RECOVERY_KEY, new_key
from features.world import PURPOSES, World, bound_to, fresh_address
from identity_client import Signer

REFUSED_METHODS = {"GET": "PUT", "POST": "PUT", "PATCH": "PUT", "DELETE": "POST", "PUT": "POST"}


def strict(world: World) -> None:
    world.kind = "strict"


@given(parsers.parse("a good request for {operation_id}"))
def good(world: World, operation_id: str) -> None:
    world.notes["draft"] = world.prepared(operation_id)


@when("it is sent")
def sent(world: World) -> None:
    world.send(world.notes["draft"])


def surplus(world: World) -> None:
    draft = world.notes["draft"]
    draft.query["surprise"] = "1"
    world.send(draft)


def ambiguous(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers |= {"Authorization": f"ApiKey {world.server.api_key}", "X-API-Key": "another"}
    world.send(draft)


@when(parsers.parse("it is sent with {which} in X-API-Key beside its signature"))
def with_key(world: World, which: str) -> None:
    draft = world.notes["draft"]
    assert draft.headers["Authorization"].startswith((DID_AUTH, RECOVERY_KEY))
    draft.headers["X-API-Key"] = {"a good key": world.server.api_key, "a wrong key": "another"}[which]
    world.send(draft)


def anonymous(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers.pop("Authorization")
    world.send(draft)


def forged(world: World) -> None:
    draft = world.notes["draft"]
    if draft.operation.operation_id in PURPOSES:
        person = world.people["Hana"]
        bound, purpose = bound_to(draft.body), PURPOSES[draft.operation.operation_id]
        digest, text = bound.get("body_hash"), world.challenge(person.did, purpose=purpose, **bound)
        mallory = Signer(person.did, new_key().secret)
        scheme = RECOVERY_KEY if purpose == "recover" else DID_AUTH
        draft.headers["Authorization"] = mallory.header(text, purpose=purpose, digest=digest, scheme=scheme)
    else:
        draft.headers["Authorization"] = "ApiKey idk_live_guessed"
    world.send(draft)


def method(world: World) -> None:
    draft = world.notes["draft"]
    world.send(draft, method=REFUSED_METHODS[draft.operation.method])


def huge(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers["Content-Type"] = "application/json"
    world.send(draft, content=b'{"reason":"' + b"a" * 2**20 + b'"}')


def plain(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers["Content-Type"] = "text/plain"
    world.send(draft, content=b"{}")


def headers(world: World) -> None:
    draft = world.notes["draft"]
    for number in range(25):
        draft.headers[f"X-Filler-{number}"] = "a" * 4000
    world.send(draft)


def twice(world: World) -> None:
    draft = world.notes["draft"]
    world.notes["address"] = fresh_address()
    if any(scheme.startswith(("ApiKey", "Bearer")) for scheme in draft.operation.schemes):
        minted = world.call(
            "createApiKey",
            headers=world.key_header(),
            body=world.model(
                "CreateApiKeyRequest", {"name": "slow", "admin": True, "requestsPerSecond": 0.001, "burst": 1}
            ),
        )
        draft.headers["Authorization"] = f"ApiKey {minted.parsed.api_key}"
    world.send(draft)
    world.send(draft)


@when(parsers.parse("it is sent twice with one Idempotency-Key"))
def repeated(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers["Idempotency-Key"] = os.urandom(8).hex()
    first = world.send(draft)
    if draft.operation.operation_id in PURPOSES:
        resign(world)
    world.notes["twice"] = (first, world.send(draft))


def mismatched(world: World) -> None:
    draft = world.notes["draft"]
    draft.headers["Idempotency-Key"] = os.urandom(8).hex()
    assert world.send(draft).status_code in (200, 201), world.answer.content
    draft.body = other_body(draft.operation.operation_id, draft.body)
    if draft.operation.operation_id in PURPOSES:
        resign(world)
    world.send(draft)


def other_body(operation_id: str, body: object) -> object:
    """A body that the operation takes and that says something else."""
    if operation_id == "updateDid":
        return {"operation": "setAlsoKnownAs", "alsoKnownAs": ["https://else.example/"]}
    if operation_id == "rotateApiKey":
        return {"graceSeconds": 60}
    changed = {
        "createDid": {"options": {"recoveryKey": False}},
        "registerDid": {"options": {"returnSecrets": True}},
        "createApiKey": {"name": "another"},
        "createCredentialSchema": {"id": "urn:story:another"},
        "issueCredential": {"validUntil": "2999-01-01T00:00:00Z"},
        "importCredential": {"validUntil": "2999-01-01T00:00:00Z"},
        "setCredentialStatus": {"reason": "another"},
        "createDelegation": {"purpose": "another"},
        "revokeDelegation": {"reason": "another"},
        "revokeIbct": {"id": "urn:uuid:another"},
        "revokeProof": {"reason": "another"},
        "rotateHolderSecret": {"forgetFormer": True},
        "updateApiKey": {"name": "another"},
        "rotateDidKey": {"purpose": ["authentication"]},
        "recoverDid": {"revokeAllExistingKeys": False},
        "verifyProof": {"maxAge": 60},
        "verifyStoredProof": {"maxAge": 60},
    }[operation_id]
    assert isinstance(body, dict)
    return body | changed


def resign(world: World) -> None:
    """A fresh signature for the draft, by a key that still holds after the first request."""
    draft, person = world.notes["draft"], world.people["Hana"]
    first = world.answers[-1].json()
    if draft.operation.operation_id == "rotateDidKey":
        person.secrets["authentication"] = first["newKey"]["privateKey"]
    if draft.operation.operation_id == "recoverDid":
        person.secrets["recovery"] = first["keys"]["recovery"]["privateKey"]
    key = "recovery" if draft.operation.operation_id == "recoverDid" else "authentication"
    draft.headers |= world.signed(person, draft.operation.operation_id, draft.body, key=key)


@then("both answers are the same")
def same(world: World) -> None:
    first, second = world.notes["twice"]
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"
