"""How DIDs come to be."""

from __future__ import annotations

import json
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.formats import new_key
from features.steps.answers import body_of
from features.world import Person, World

# Given


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


@given(parsers.parse("{name} has registered a did:key of her own"))
def own_did_key(world: World, name: str) -> None:
    pair = new_key()
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
    pair = new_key()
    own = {"type": "Ed25519", "publicKeyMultibase": pair.public, "purpose": ["authentication"]}
    bodies: dict[str, Any] = {
        "an own key": {"options": {"publicKeys": [own]}},
        "an unknown method": {"method": "unknown"},
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
        "keys without an owner": {"options": {"returnSecrets": False}},
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


@given(parsers.parse("{name:w} creates a DID with it"))
def creates_with_own_key(world: World, name: str) -> None:
    wish = world.model("CreateDidRequest", {"method": "ids"})
    made = world.call("createDid", headers={"X-API-Key": world.notes[name][0]}, body=wish)
    assert made.status_code == 201, made.content
    world.notes["own DID"] = made.parsed.did


def _list_all(world: World, key: dict[str, str], **query: Any) -> None:
    """Read every page, and note the DIDs."""
    found, cursor = set[str](), {}
    for _ in range(100):
        answer = world.call("listDids", headers=key, limit=200, **query, **cursor)
        if answer.status_code != 200:
            return
        found |= {one.did for one in answer.parsed.items}
        if answer.parsed.next_cursor is None:
            break
        cursor = {"cursor": answer.parsed.next_cursor}
    world.notes["listed"] = found


@when("the operator lists all DIDs")
def lists_all(world: World) -> None:
    _list_all(world, world.key_header(), all_=True)


@when("the operator lists its own DIDs")
def lists_own(world: World) -> None:
    _list_all(world, world.key_header())


@when(parsers.parse("{name:w} lists all DIDs with it"))
def lists_all_with_own_key(world: World, name: str) -> None:
    _list_all(world, {"X-API-Key": world.notes[name][0]}, all_=True)


# Then


@then(parsers.parse("the DID of {name:w} is in the list"))
def is_listed(world: World, name: str) -> None:
    assert world.notes["own DID"] in world.notes["listed"]


@then(parsers.parse("the DID of {name:w} is not in the list"))
def is_not_listed(world: World, name: str) -> None:
    assert world.notes["listed"]
    assert world.notes["own DID"] not in world.notes["listed"]


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


@then("the details name the methods that there are")
def methods(world: World) -> None:
    assert "ids" in body_of(world.answer)["error"]["details"]["supported"]
