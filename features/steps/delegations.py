"""Holders delegate, and agents pass on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.delegating import ABSENT, SHORTLY, UNKNOWN, change, delegate, remember, terms, wait_until_expired
from features.formats import base58btc, check_data_integrity, data_integrity_input, printed, sign
from features.signing import call
from features.steps.answers import body_of
from features.world import Person, World

# What makes a child wider than the parent of these stories, by dimension.
WIDER: dict[str, dict[str, Any]] = {
    "actions": {"actions": ["zkp.prove.*.gte"]},
    "credentials": {"credentialIds": ["urn:uuid:another"]},
    "schemas": {"schemaIds": None},
    "verifiers": {"verifiers": ["https://else.example"]},
    "level": {"autonomyLevel": 5, "maxUses": None},
    "uses": {"maxUses": 11},
    "refusals": {"maxRefusals": None},
    "thresholds": {"maxThresholds": 4},
    "depth": {"maxDepth": 1},
    "beginning": {"notBefore": "2026-01-01T00:00:00Z"},
    "end": {"expiresAt": "in 40 days"},
}
MALFORMED: dict[str, dict[str, Any]] = {
    "a prefix": {"actions": ["zkp.prove.age"]},
    "a wildcard inside a name": {"actions": ["zkp.prove.a*.gte"]},
    "a line break": {"actions": ["zkp.prove.age.gte\n"]},
    "a value of 17 digits": {"predicates": [{"attributeName": "age", "type": "gte", "values": [0.1 + 0.2]}]},
    "an unknown type": {"predicates": [{"attributeName": "age", "type": "like", "values": [1]}]},
    "no action": {"actions": []},
    "an end in the past": {"expiresAt": "2020-01-01T00:00:00Z"},
    "an end in a year": {"expiresAt": "in 365 days"},
    "a level of 6": {"autonomyLevel": 6},
}


# Given


@given(parsers.parse("{holder:w} has delegated to {agent:w}"))
def has_delegated(world: World, holder: str, agent: str) -> None:
    remember(world, holder, agent, maxDepth=1)


@given(parsers.parse("{holder:w} has delegated to {agent:w}, who may not pass it on"))
def has_delegated_flat(world: World, holder: str, agent: str) -> None:
    remember(world, holder, agent)


@given(parsers.parse("{holder:w} has delegated to {agent:w} at level {level:d}"))
def has_delegated_low(world: World, holder: str, agent: str, level: int) -> None:
    remember(world, holder, agent, maxDepth=1, autonomyLevel=level)


@given(parsers.parse("{holder:w} has delegated to {agent:w} from tomorrow on"))
def has_delegated_later(world: World, holder: str, agent: str) -> None:
    remember(world, holder, agent, maxDepth=1, notBefore="in 1 days")


@given(parsers.parse("{holder:w} has delegated to {agent:w} within limits"))
def has_delegated_narrowly(world: World, holder: str, agent: str) -> None:
    remember(
        world,
        holder,
        agent,
        maxDepth=1,
        credentialIds=["urn:uuid:one"],
        schemaIds=["https://schemas.example/person"],
        verifiers=["https://shop.example"],
        maxUses=10,
    )


@given(parsers.parse("what {holder:w} delegated to {agent:w} has expired"))
def has_expired(world: World, holder: str, agent: str) -> None:
    wait_until_expired(world, holder, remember(world, holder, agent, maxDepth=1, expiresAt=SHORTLY))


@given(parsers.parse("{agent:w} has passed it on to {other:w}"))
def has_passed_on(world: World, agent: str, other: str) -> None:
    world.notes["parent"] = world.notes["delegation"]
    remember(world, "Hana", other, by=agent, parentId=world.notes["parent"], maxDepth=0)


@given(parsers.parse("{name:w} has revoked it"))
def has_revoked(world: World, name: str) -> None:
    assert change(world, name, "revokeDelegation", world.notes["delegation"]).status_code == 200


@given(parsers.parse("{name:w} has suspended it"))
def has_suspended(world: World, name: str) -> None:
    assert change(world, name, "suspendDelegation", world.notes["delegation"]).status_code == 200


@given(parsers.parse("{name:w} has an API key that acts for {whom:w} only"))
def allowlisted(world: World, name: str, whom: str) -> None:
    body = {
        "name": name,
        "scopes": ["delegations:read", "delegations:write"],
        "allowedTargets": [world.person(whom).did],
    }
    answer = world.call("createApiKey", headers=world.key_header(), body=world.model("CreateApiKeyRequest", body))
    world.notes[name] = (answer.parsed.api_key, answer.parsed.record.id)


# When


@when(parsers.parse("{holder:w} delegates to {agent:w}"))
def delegates(world: World, holder: str, agent: str) -> None:
    delegate(world, holder, agent)


@when(parsers.parse("{holder:w} delegates to {agent:w} what she pins in plain values"))
def delegates_pinned(world: World, holder: str, agent: str) -> None:
    pinned = [
        {"attributeName": "age", "type": "gte", "values": [18, 21]},
        {"attributeName": "home town", "type": "eq", "values": ["Köln"]},
    ]
    delegate(world, holder, agent, actions=[], predicates=pinned)


@when(parsers.parse("{holder:w} delegates to {agent:w} with {what}"))
def delegates_malformed(world: World, holder: str, agent: str, what: str) -> None:
    draft = world.draft("createDelegation")
    draft.body = terms(world, holder, agent, **MALFORMED[what])
    world.send(draft)


@when(parsers.parse("{holder:w} delegates to {agent:w} and signs the terms"))
def delegates_signed(world: World, holder: str, agent: str) -> None:
    wanted = world.model("CreateDelegationRequest", terms(world, holder, agent)).to_dict()
    delegate(world, holder, agent, **wanted, holderProof=holder_proof(world, world.person(holder), wanted))


@when(parsers.parse("{holder:w} delegates to {agent:w} under a signature of {other:w}"))
def delegates_forged(world: World, holder: str, agent: str, other: str) -> None:
    wanted = world.model("CreateDelegationRequest", terms(world, holder, agent)).to_dict()
    mallory = Person(world.person(holder).did, world.person(other).secrets, world.person(holder).created)
    delegate(world, holder, agent, **wanted, holderProof=holder_proof(world, mallory, wanted))


def holder_proof(world: World, person: Person, wanted: Any) -> dict[str, str]:
    config = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "created": printed(datetime.now(UTC)).replace("Z", "+00:00"),
        "verificationMethod": person.created["keys"]["authentication"]["keyId"],
        "proofPurpose": "capabilityDelegation",
    }
    return config | {
        "proofValue": base58btc(sign(person.secrets["authentication"], data_integrity_input(config, wanted)))
    }


@when(parsers.parse("{name:w} delegates for {holder:w} to {agent:w}"))
def delegates_for(world: World, name: str, holder: str, agent: str) -> None:
    delegate(world, holder, agent, by=name)


@when(parsers.parse("{name:w} delegates with that key for {holder:w} to {agent:w}"))
def delegates_with_key(world: World, name: str, holder: str, agent: str) -> None:
    headers = {"Authorization": f"ApiKey {world.notes[name][0]}"}
    body = world.model("CreateDelegationRequest", terms(world, holder, agent))
    world.call("createDelegation", headers=headers, body=body)


@when(parsers.parse("{holder:w} delegates to an unregistered DID"))
def delegates_nowhere(world: World, holder: str) -> None:
    delegate(world, holder, "Aki", agentDid=ABSENT)


@when(parsers.parse("{holder:w} delegates to what is not a DID"))
def delegates_to_text(world: World, holder: str) -> None:
    delegate(world, holder, "Aki", agentDid="aki")


@when(parsers.parse("{agent:w} passes it on to {other:w}"))
def passes_on(world: World, agent: str, other: str) -> None:
    delegate(world, "Hana", other, by=agent, parentId=world.notes["delegation"])


@when(parsers.parse("{agent:w} passes on something that does not exist to {other:w}"))
def passes_on_nothing(world: World, agent: str, other: str) -> None:
    delegate(world, "Hana", other, by=agent, parentId=UNKNOWN)


@when(parsers.parse("{agent:w} passes it on to {other:w} with wider {dimension:w}"))
def passes_on_wider(world: World, agent: str, other: str, dimension: str) -> None:
    delegate(world, "Hana", other, by=agent, parentId=world.notes["delegation"], **WIDER[dimension])


# Then


@then(parsers.parse("the delegation is {status:w}"))
def is_in(world: World, status: str) -> None:
    assert body_of(world.answer)["status"] == status


@then(parsers.parse("it asks {refusals:d} refusal and {thresholds:d} thresholds at most"))
def has_limits(world: World, refusals: int, thresholds: int) -> None:
    shown = body_of(world.answer)
    assert (shown["maxRefusals"], shown["maxThresholds"]) == (refusals, thresholds)
    assert (shown["uses"], shown["refusals"], shown["thresholds"]) == (0, 0, 0)


@then(parsers.parse("{name:w} finds the same at its location"))
def at_location(world: World, name: str) -> None:
    made = world.answer
    one = made.headers["location"].rpartition("/")[2]
    found = call(world, name, "getDelegation", delegation_id=one)
    assert body_of(found) == body_of(made)


@then(parsers.parse("its actions are {actions}"))
def has_actions(world: World, actions: str) -> None:
    assert body_of(world.answer)["actions"] == actions.split(", ")


@then(parsers.parse("anybody can check that {holder:w} signed the terms"))
def checkable(world: World, holder: str) -> None:
    shown = body_of(world.answer)
    resolved = world.call("resolveDid", did=world.person(holder).did)
    document, proof = body_of(resolved)["didDocument"], shown["holderProof"]
    (method,) = (one for one in document["verificationMethod"] if one["id"] == proof["verificationMethod"])
    assert (proof["proofPurpose"], method.get("revoked")) == ("capabilityDelegation", None)
    assert method["id"] in document["capabilityDelegation"]
    check_data_integrity(proof, shown["signedRequest"], method["publicKeyMultibase"])
    assert shown["signedRequest"]["agentDid"] == shown["agentDid"]


@then(parsers.parse("it is refused because of {member:w}"))
def refused_for(world: World, member: str) -> None:
    assert body_of(world.answer)["error"]["details"]["member"] == member
