"""What stories about delegations send: terms, signatures, and a good request for every operation."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from features.document import Operation
from features.formats import printed
from features.signing import call
from features.world import DRAFTS, PATIENCE_SECONDS, Draft, World

ABSENT = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
AGE = "zkp.prove.age.gte"
# Time enough to ask for it on a machine that is busy: what has ended already cannot be delegated.
SHORTLY = f"in {5 / 86_400} days"


def in_days(days: float) -> str:
    return printed(datetime.now(UTC) + timedelta(days=days))


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


def delegate(world: World, holder: str, agent: str, **more: Any) -> Any:
    """The answer of a delegation by its holder, or, with ``parentId``, by the one whom ``by`` names."""
    by = more.pop("by", holder)
    return call(world, by, "createDelegation", "CreateDelegationRequest", terms(world, holder, agent, **more))


def remember(world: World, holder: str, agent: str, **more: Any) -> str:
    """A delegation that the story is about from now on; returns its id."""
    answer = delegate(world, holder, agent, **more)
    assert answer.status_code == 201, answer.content
    world.notes["delegation"] = answer.parsed.id
    return str(answer.parsed.id)


def wait_until_expired(world: World, holder: str, delegation_id: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while call(world, holder, "getDelegation", delegation_id=delegation_id).parsed.status != "expired":
        assert time.monotonic() < deadline, "the delegation does not expire"
        time.sleep(0.1)


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
