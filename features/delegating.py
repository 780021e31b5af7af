"""What stories about delegations send: terms, signatures, and a good request for every operation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from features.document import Operation
from features.world import DRAFTS, Draft, Person, World
from identity_core.domain import challenge, times

READING = ("getDelegation", "listDelegations")
NOBODY = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
AGE = "zkp.prove.age.gte"


def in_days(days: float) -> str:
    return times.printed(datetime.now(UTC) + timedelta(days=days))


def terms(world: World, holder: str, agent: str, **more: Any) -> dict[str, Any]:
    """A request for a delegation; ``in N days`` stands for a time."""
    wanted: dict[str, Any] = {
        "holderDid": world.person(holder).did,
        "agentDid": world.person(agent).did,
        "actions": [AGE],
        "autonomyLevel": 5,
        "expiresAt": "in 29 days" if "parentId" in more else "in 30 days",
    } | more
    return {
        name: in_days(float(value.split()[1])) if str(value).startswith("in ") else value
        for name, value in wanted.items()
    }


def signature(world: World, person: Person, operation_id: str, body: Any = None) -> dict[str, str]:
    """The header of a person for exactly this operation and body."""
    purpose = "read" if operation_id in READING else "delegate"
    if body is None:
        text = world.challenge(person.did, purpose=purpose)
        return {"Authorization": person.signer().header(text, purpose=purpose)}
    digest = challenge.hash_body(body)
    text = world.challenge(person.did, purpose=purpose, body_hash=digest)
    return {"Authorization": person.signer().header(text, purpose=purpose, digest=digest)}


def call(world: World, name: str, operation_id: str, model: str = "", body: Any = None, **path: Any) -> Any:
    """A signed operation through the generated client. What is signed is what the client sends."""
    person = world.person(name)
    if body is None:
        return world.call(operation_id, headers=signature(world, person, operation_id), **path)
    made = world.model(model, body)
    return world.call(operation_id, headers=signature(world, person, operation_id, made.to_dict()), body=made, **path)


def delegate(world: World, holder: str, agent: str, **more: Any) -> Any:
    """The answer of a delegation by its holder, or, with ``parentId``, by whoever ``by`` names."""
    by = more.pop("by", holder)
    return call(world, by, "createDelegation", "CreateDelegationRequest", terms(world, holder, agent, **more))


def remember(world: World, holder: str, agent: str, **more: Any) -> str:
    """A delegation that the story is about from now on; returns its id."""
    answer = delegate(world, holder, agent, **more)
    assert answer.status_code == 201, answer.content
    world.notes["delegation"] = answer.parsed.id
    return str(answer.parsed.id)


def change(world: World, name: str, operation_id: str, one: str) -> Any:
    body = {"reason": "it is over"} if operation_id == "revokeDelegation" else None
    return call(world, name, operation_id, "RevokeDelegationRequest", body, delegation_id=one)


# Good requests


def _drafted(world: World, operation: Operation) -> Draft:
    """An operator acts for Hana."""
    hana, aki = world.new_person("Hana"), world.new_person("Aki")
    draft = Draft(operation, operation.path, headers=world.key_header())
    wanted = terms(world, "Hana", "Aki")
    if "{delegationId}" in operation.path:
        made = world.call(
            "createDelegation", headers=world.key_header(), body=world.model("CreateDelegationRequest", wanted)
        )
        assert made.status_code == 201, made.content
        draft.path = operation.path.replace("{delegationId}", made.parsed.id)
        if operation.operation_id == "resumeDelegation":
            world.call("suspendDelegation", headers=world.key_header(), delegation_id=made.parsed.id)
    bodies = {
        "createDelegation": wanted | {"agentDid": aki.did},
        "revokeDelegation": {"reason": "over"},
        "revokeIbct": {"invoker": hana.did, "id": "urn:uuid:token"},
    }
    draft.body = bodies.get(operation.operation_id)
    return draft


for _name in (
    "createDelegation", "listDelegations", "getDelegation", "deleteDelegation", "revokeDelegation", "suspendDelegation",
    "resumeDelegation", "revokeIbct",
):  # fmt: skip
    DRAFTS[_name] = _drafted
