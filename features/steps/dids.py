"""Holders and their DIDs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from pytest_bdd import given, parsers, then, when

from features.document import operation
from features.steps.answers import body_of
from features.world import PURPOSES, Draft, Person, World
from identity_core.client import Signer
from identity_core.domain import keys
from identity_core.domain.challenge import hash_body
from identity_core.domain.evidence import DID_AUTH, RECOVERY_KEY
from identity_core.domain.log import verify

BODIES = {
    "updateDid": "UpdateDidRequest",
    "deactivateDid": "DeactivateDidRequest",
    "rotateDidKey": "RotateDidKeyRequest",
    "recoverDid": "RecoverDidRequest",
}
UNKNOWN = "did:ids:QmUnknownUnknownUnknownUnknownUnknownUnknownUn"


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


@given("a service that hides the history of deactivated DIDs")
def hidden(world: World) -> None:
    world.kind = "hidden"


@given(parsers.parse("{name} has a DID"))
def has_did(world: World, name: str) -> None:
    world.new_person(name)


@given(parsers.parse("{name} has a DID with a service"))
def has_service(world: World, name: str) -> None:
    endpoint = {"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}
    world.new_person(name, {"serviceEndpoints": [endpoint]})


@given(parsers.parse("{name} has a DID without a recovery key"))
def no_recovery(world: World, name: str) -> None:
    world.new_person(name, {"recoveryKey": False})


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


@given(parsers.parse("{name} has registered a did:key of her own"))
def own_did_key(world: World, name: str) -> None:
    pair = keys.generate("Ed25519", os.urandom)
    own = {"type": "Ed25519", "publicKeyMultibase": pair.public, "purpose": ["authentication"]}
    body = {"method": "key", "options": {"publicKeys": [own]}}
    answer = world.call("createDid", headers=world.key_header(), body=world.model("CreateDidRequest", body))
    assert answer.status_code == 201, answer.content
    world.notes["did:key"] = body
    world.people[name] = Person(answer.parsed.did, {"authentication": pair.secret}, answer.parsed.to_dict())


# When


@when("the operator creates a DID with three keys, a service and a recovery key")
def creates(world: World) -> None:
    options = {
        "additionalKeys": [
            {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
            {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]},
        ],
        "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
        "recoveryKey": True,
    }
    body = {"method": "ids", "keyType": "Ed25519", "options": options}
    world.call("createDid", headers=world.key_header(), body=world.model("CreateDidRequest", body))


@when(parsers.re(r"the operator creates a DID with (?P<what>(?!three keys).+)"))
def creates_with(world: World, what: str) -> None:
    pair = keys.generate("Ed25519", os.urandom)
    own = {"type": "Ed25519", "publicKeyMultibase": pair.public, "purpose": ["authentication"]}
    bodies: dict[str, Any] = {
        "an own key": {"options": {"publicKeys": [own]}},
        "an unknown method": {"method": "nobody"},
        "an unknown key type": {"keyType": "Rsa"},
        "a key agreement key that authenticates": {
            "options": {"additionalKeys": [{"type": "X25519KeyAgreementKey2020", "purpose": ["authentication"]}]}
        },
        "a weak own key": {
            "options": {
                "publicKeys": [own | {"publicKeyMultibase": "z6MkeXATEjyXENzBXBxgC5EHk2JE5aqd7qMGGtDpLUH1e2Sj"}]
            }
        },
        "an endpoint that is a script": {
            "options": {"serviceEndpoints": [{"type": "LinkedDomains", "serviceEndpoint": "javascript:alert(1)"}]}
        },
        "keys that nobody would have": {"options": {"returnSecrets": False}},
        "keys for the custodian": {"options": {"returnSecrets": False, "storeSecrets": True}},
    }
    body = {"method": "ids"} | bodies[what]
    world.call("createDid", headers=world.key_header(), body=world.model("CreateDidRequest", body))


@when("the same did:key is registered again")
def again(world: World) -> None:
    body = world.model("CreateDidRequest", world.notes["did:key"])
    world.call("createDid", headers=world.key_header(), body=body)


@when("the operator lists DIDs one by one")
def lists(world: World) -> None:
    first = world.call("listDids", headers=world.key_header(), limit=1)
    world.notes["first"] = first.parsed
    world.call("listDids", headers=world.key_header(), limit=1, cursor=first.parsed.next_cursor)


@when(parsers.parse("Vera resolves the DID of {name}"))
def resolves(world: World, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did)


@when(parsers.parse("Vera resolves version {version:d} of the DID of {name}"))
def resolves_version(world: World, version: int, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did, version_id=version)


@when(parsers.parse("Vera resolves the DID of {name} as {media}"))
def resolves_as(world: World, name: str, media: str) -> None:
    did = quote(world.person(name).did, safe="")
    world.send(Draft(operation("resolveDid"), f"/dids/{did}", headers={"Accept": media}))


@when(parsers.parse("Vera resolves the DID of {name} at its first second"))
def resolves_at(world: World, name: str) -> None:
    person = world.person(name)
    created = world.call("resolveDid", did=person.did).parsed.did_document_metadata.created
    world.call("resolveDid", did=person.did, version_time=created)


@when(parsers.parse("Vera resolves the DID of {name} a year before it was made"))
def resolves_before(world: World, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did, version_time=datetime.now(UTC) - timedelta(days=366))


@when(parsers.parse("Vera resolves the DID of {name} again with the tag that she got"))
def resolves_again(world: World, name: str) -> None:
    did = world.person(name).did
    tag = world.call("resolveDid", did=did).headers["etag"]
    world.call("resolveDid", did=did, if_none_match=tag)


@when(parsers.re(r"(?P<operation_id>\w+) is asked for the DID (?P<did>did:\S+|nobody has)"))
def asked_for(world: World, operation_id: str, did: str) -> None:
    found = operation(operation_id)
    draft = Draft(found, found.path.replace("{did}", quote(did if did != "nobody has" else UNKNOWN, safe="")))
    if operation_id == "getDidAuthChallenge":
        draft.query["did"] = did if did != "nobody has" else UNKNOWN
    if found.has_body:
        draft.body = {"confirm": True} if operation_id == "deactivateDid" else world.body_for(
            operation_id, world.person("Hana")
        )  # fmt: skip
    world.send(draft)


@when(parsers.re(r"(?P<operation_id>\w+) is asked for the DID of (?P<name>\w+)"))
def asked_for_person(world: World, operation_id: str, name: str) -> None:
    asked_for(world, operation_id, world.person(name).did)


@when(parsers.re(r"(?P<name>\w+) (?P<operation_id>updateDid|deactivateDid|rotateDidKey|recoverDid)s the DID"))
def acts(world: World, name: str, operation_id: str) -> None:
    act(world, world.person(name), operation_id, body_for(world, name, operation_id))


@when(parsers.parse("{name} asks to {what}"))
def asks(world: World, name: str, what: str) -> None:
    person = world.person(name)
    key_id = person.created["keys"]["authentication"]["keyId"]
    key = keys.generate("Ed25519", os.urandom)
    service = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
    agreement = keys.generate("X25519KeyAgreementKey2020", os.urandom)
    x25519 = {"type": agreement.type, "publicKeyMultibase": agreement.public}
    method = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": key.public}
    requests: dict[str, tuple[str, Any]] = {
        "add a service": ("updateDid", {"operation": "addService", "service": service}),
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


@when(parsers.parse("{operation_id} is sent again while the first is being answered"))
def concurrent(world: World, operation_id: str) -> None:
    key = os.urandom(8).hex()
    draft = world.draft(operation_id)
    draft.headers["Idempotency-Key"] = key
    second = None
    if operation_id in PURPOSES:
        person = world.people["Hana"]
        which = "recovery" if operation_id == "recoverDid" else "authentication"
        second = world.signed(person, operation_id, draft.body, key=which)
    again = Draft(draft.operation, draft.path, draft.query, draft.headers | (second or {}), draft.body)
    world.send_meanwhile(draft, again)


@when(parsers.parse("Vera reads the history of the DID of {name}"))
def reads_history(world: World, name: str) -> None:
    world.call("listDidHistory", did=world.person(name).did, include_document=True)


@when(parsers.parse("Vera reads the history of the DID of {name} one by one, newest first"))
def reads_pages(world: World, name: str) -> None:
    from importlib import import_module

    order = import_module(f"{world.package}.models").ListDidHistoryOrder("desc")
    did = world.person(name).did
    first = world.call("listDidHistory", did=did, limit=1, order=order)
    world.notes["first"] = first.parsed
    world.call("listDidHistory", did=did, limit=1, order=order, cursor=first.parsed.next_cursor)


@when(parsers.parse("Vera reads the log of the DID of {name}"))
def reads_log(world: World, name: str) -> None:
    world.call("getDidLog", did=world.person(name).did)


@when(parsers.parse("a challenge for the DID of {name} is asked for"))
def asks_challenge(world: World, name: str) -> None:
    world.call("getDidAuthChallenge", did=world.person(name).did)


@when("Vera follows the events")
def follows(world: World) -> None:
    after = 0
    while True:
        page = world.call("listEvents", after=after, limit=1000).parsed
        if not page.items:
            break
        world.notes.setdefault("events", []).extend(item.to_dict() for item in page.items)
        after = page.next_after


# Then


@then("the answer holds one private key for each of authentication, keyAgreement, assertionMethod and recovery")
def four_keys(world: World) -> None:
    issued = world.answer.parsed.keys.to_dict()
    assert set(issued) == {"authentication", "keyAgreement", "assertionMethod", "recovery"}
    assert all(key["privateKey"].startswith("z") for key in issued.values())


@then("the recovery key is not in the document")
def recovery_hidden(world: World) -> None:
    body = body_of(world.answer)
    assert body["keys"]["recovery"]["publicKey"] not in json.dumps(body["didDocument"])


@then("the answer holds no private key")
def no_private_key(world: World) -> None:
    assert b"privateKey" not in world.answer.content
    assert b"z3u2" not in world.answer.content


@then(parsers.parse("the document is version {version:d}"))
def is_version(world: World, version: int) -> None:
    body = body_of(world.answer)
    found = body.get("versionId") or body["didDocumentMetadata"]["versionId"]
    assert int(found) == version


@then(parsers.parse("the document has {count:d} services"))
def services(world: World, count: int) -> None:
    assert len(body_of(world.answer)["didDocument"].get("service", [])) == count


@then("the details name the methods that there are")
def methods(world: World) -> None:
    assert "ids" in body_of(world.answer)["error"]["details"]["supported"]


@then("the bare document comes back")
def bare(world: World) -> None:
    assert body_of(world.answer)["id"].startswith("did:ids:")
    assert world.answer.headers["content-type"] == "application/did+json"


@then("a W3C resolution result comes back")
def w3c(world: World) -> None:
    body = body_of(world.answer)
    assert body["didResolutionMetadata"]["contentType"] == "application/did"
    assert body["didDocumentMetadata"]["versionId"] == "1"


@then("the refusal carries the document of that version")
def gone_with_document(world: World) -> None:
    body = body_of(world.answer)
    assert body["didDocument"]["verificationMethod"]
    assert body["didDocumentMetadata"]["deactivated"] is True


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


@then("the pages do not overlap")
def pages(world: World) -> None:
    first, second = world.notes["first"].items, world.answer.parsed.items
    assert len(first) == len(second) == 1
    assert first[0].to_dict() != second[0].to_dict()


@then(parsers.parse("the history tells {operations}"))
def tells(world: World, operations: str) -> None:
    items = body_of(world.answer)["items"]
    assert [item["operation"] for item in items] == operations.split(", ")
    assert [item["versionId"] for item in items] == list(range(1, len(items) + 1))
    for before, after in pairwise(items):
        assert after["previousHash"] == before["entryHash"]


@then(parsers.parse("the log proves {versions:d} versions to anybody"))
def proves(world: World, versions: int) -> None:
    checked = verify(world.answer.content)
    assert (checked.versions, checked.did) == (versions, world.people["Hana"].did)


@then(parsers.parse("the challenge names the DID of {name}, the service and its end"))
def challenge_text(world: World, name: str) -> None:
    from identity_core.domain.challenge import Challenge

    offer = world.answer.parsed
    read = Challenge.parse(offer.challenge)
    assert (read.did, read.origin) == (world.people[name].did, world.server.url)
    assert read.expires_at == offer.expires_at


@then(parsers.parse("the events of the DID of {name} are {operations}"))
def events(world: World, name: str, operations: str) -> None:
    found = [event for event in world.notes["events"] if event["did"] == world.people[name].did]
    assert [event["operation"] for event in found] == operations.split(", ")
    sequences = [event["sequence"] for event in world.notes["events"]]
    assert sequences == list(range(1, len(sequences) + 1))
