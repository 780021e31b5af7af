"""Agents ask what a proof would be refused for, before they spend a token on it."""

from __future__ import annotations

from typing import Any

from pytest_bdd import parsers, then, when

from features.proof_flaws import FLAWS
from features.proving import story
from features.signing import call
from features.steps.answers import body_of
from features.world import World


def check(world: World, request: dict[str, Any], *, by: str = "Aki") -> Any:
    return call(world, by, "checkDelegatedProof", "DelegatedProofCheckRequest", request)


@when("Aki asks what a proof would be refused for")
def asks_what_for(world: World) -> None:
    world.notes["checked"] = story(world).request()
    check(world, world.notes["checked"])


@when(parsers.parse("Aki asks what a proof with {flaw} would be refused for"))
def asks_what_a_flaw(world: World, flaw: str) -> None:
    FLAWS[flaw](story(world))
    check(world, story(world).request())


@when("Aki asks what a proof that she is 90 would be refused for")
def asks_in_vain_what_for(world: World) -> None:
    story(world).predicate["value"] = 90
    check(world, story(world).request())


@when("Aki has a proof made and asks what the same request would be refused for")
def asks_afterwards(world: World) -> None:
    request = story(world).request()
    assert story(world).ask(request).status_code == 201
    check(world, request)


@when(parsers.parse("{name:w} asks what a proof of Aki would be refused for"))
def asks_for_another(world: World, name: str) -> None:
    check(world, story(world).request(), by=name)


@then("nothing would refuse it, and the delegation is active")
def nothing_refuses(world: World) -> None:
    found = body_of(world.answer)
    assert (found["usable"], found["reasons"]) == (True, [])
    assert (found["delegation"]["id"], found["delegation"]["status"]) == (story(world).delegation_id, "active")


@then(parsers.re(r"it would be refused with (?P<code>[A-Z_]+)"))
def would_be_refused(world: World, code: str) -> None:
    found = body_of(world.answer)
    assert (found["usable"], [one["code"] for one in found["reasons"]]) == (False, [code])


@then("the proof is made with the same token")
def made_with_it(world: World) -> None:
    assert story(world).ask(world.notes["checked"]).status_code == 201
