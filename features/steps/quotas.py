"""DIDs that write as much as they may."""

from __future__ import annotations

import os
from typing import Any

from pytest_bdd import given, parsers, when

from features.signing import call, signature
from features.world import PURPOSES, Person, World

# More than twice the quota of the server that these stories talk to.
ENOUGH = 40


@given("a service that lets a DID write a little a day")
def frugal(world: World) -> None:
    world.kind = "frugal"


def by_a_full_one(world: World) -> None:
    draft = world.notes["draft"]
    # What a job of a registrar will sign is signed already.
    name = "Hana" if "{did}" in draft.operation.path or draft.operation.tag == "registration" else "Mallory"
    person = world.person(name)
    fill(world, name)
    if name == "Mallory":
        draft.headers = _signed(world, person, draft.operation.operation_id, draft.body)
    world.send(draft)
    # A day and a second: the wait ends with the day.
    assert int(world.answer.headers["retry-after"]) <= 86_401


@when(parsers.parse("{name:w} has signed for tokens until none is given and calls a token back"))
def calls_back(world: World, name: str) -> None:
    person = world.person(name)
    for _ in range(ENOUGH):
        body: dict[str, Any] = {}
        headers = world.signed(person, "issueToken", body)
        if world.call("issueToken", headers=headers, body=world.model("IssueTokenRequest", body)).status_code == 429:
            call_back(world, name)
            return
    raise AssertionError("the quota has no end")


def fill(world: World, name: str) -> None:
    """Revoke unknown tokens, which writes the most, until the service refuses."""
    for _ in range(ENOUGH):
        if call_back(world, name) == 429:
            return
    raise AssertionError("the quota has no end")


def call_back(world: World, name: str) -> int:
    body = {"invoker": world.person(name).did, "nonce": os.urandom(16).hex()}
    answer = call(world, name, "revokeIbct", "RevokeIbctRequest", body)
    assert answer.status_code in (200, 429), answer.content
    status: int = answer.status_code
    return status


def _signed(world: World, person: Person, operation_id: str, body: Any) -> dict[str, str]:
    if operation_id in PURPOSES or operation_id == "issueToken":
        return world.signed(person, operation_id, body)
    return signature(world, person, operation_id, body)
