"""A witness approves over HTTP, and anybody sees what waits."""

from __future__ import annotations

from pytest_bdd import given, parsers, then, when

from features.approving import WITNESSES, approval, approvals_path, newest, witnessed
from features.document import operation
from features.steps.answers import body_of
from features.world import Draft, World
from tests.attack.stranger import public


@given("Hana has a DID of which Wendy must approve")
def has_witnessed_did(world: World) -> None:
    witnessed(world)


@given(parsers.parse("{name} has approved of the newest version of the DID"))
@when(parsers.parse("{name} approves of the newest version of the DID"))
def approves_newest(world: World, name: str) -> None:
    send(world, newest(world, witnessed(world).did), name)


@when(parsers.re(r"Wendy approves of (?P<what>it again|a version that there is not)"))
def approves_of(world: World, what: str) -> None:
    version_id = newest(world, witnessed(world).did)
    number, _, digest = version_id.partition("-")
    send(world, {"a version that there is not": f"{int(number) + 1}-{digest}", "it again": version_id}[what], "Wendy")


@when("a client changes the signature of Wendy")
def changes_signature(world: World) -> None:
    did = witnessed(world).did
    body = approval(newest(world, did), WITNESSES["Wendy"])
    body["proof"]["proofValue"] = approval("1-Qm", WITNESSES["Wendy"])["proof"]["proofValue"]
    world.send(Draft(operation("approveDidVersion"), approvals_path(did), body=body))


@when(parsers.parse("Wendy sends an approval for the DID of {name}, who has no witnesses"))
def approves_unwitnessed(world: World, name: str) -> None:
    did = world.person(name).did
    version_id = newest(world, did)
    world.send(
        Draft(operation("approveDidVersion"), approvals_path(did), body=approval(version_id, WITNESSES["Wendy"]))
    )


@when("anybody asks what waits")
def asks(world: World) -> None:
    world.call("getDidApprovals", did=witnessed(world).did)


@when(parsers.parse("anybody asks what waits of the DID of {name}, who has no witnesses"))
def asks_unwitnessed(world: World, name: str) -> None:
    world.call("getDidApprovals", did=world.person(name).did)


def send(world: World, version_id: str, name: str) -> None:
    did = witnessed(world).did
    world.send(Draft(operation("approveDidVersion"), approvals_path(did), body=approval(version_id, WITNESSES[name])))


@then(parsers.re(r"(?P<published>\d+) of (?P<versions>\d+) versions? (?:is|are) published"))
def published(world: World, published: str, versions: str) -> None:
    body = body_of(world.answer)
    assert (body["publishedVersions"], body["versions"]) == (int(published), int(versions))
    assert len(body["waiting"]) == int(versions) - int(published)
    wendy = f"did:key:{public(WITNESSES['Wendy'])}"
    assert all(one["witnesses"] == [wendy] and one["approvedBy"] == [] for one in body["waiting"])
