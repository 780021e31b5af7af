"""What is done with a delegation that there is, and with IBCTs."""

from __future__ import annotations

import base64
import os

from pytest_bdd import parsers, then, when

from features.delegating import ABSENT, UNKNOWN, change
from features.document import operation
from features.formats import SIGNATURE_OCTETS, base64url
from features.signing import call, signature
from features.steps.answers import body_of
from features.world import Draft, World

# When


@when(parsers.parse("{name:w} sends {operation_id:w} about it"))
def about_it(world: World, name: str, operation_id: str) -> None:
    change(world, name, operation_id, world.notes["delegation"])


@when(parsers.parse("{name:w} sends {operation_id:w} about something that does not exist"))
def about_nothing(world: World, name: str, operation_id: str) -> None:
    change(world, name, operation_id, UNKNOWN)


@when(parsers.parse("{name:w} revokes what {agent:w} was given"))
def revokes_parent(world: World, name: str, agent: str) -> None:
    change(world, name, "revokeDelegation", world.notes["parent"])


@when(parsers.parse("{name:w} lists delegations"))
def lists(world: World, name: str) -> None:
    call(world, name, "listDelegations")


@when(parsers.parse("{name:w} lists delegations that are {status:w}"))
def lists_status(world: World, name: str, status: str) -> None:
    draft = Draft(operation("listDelegations"), "/delegations", {"status": status})
    draft.headers = signature(world, world.person(name), "listDelegations")
    world.send(draft)


@when("listDelegations is asked about what is not a DID")
def lists_text(world: World) -> None:
    draft = world.draft("listDelegations")
    draft.query["holderDid"] = "hana"
    world.send(draft)


@when(parsers.parse("{name:w} lists with that key the delegations of {holder:w}"))
def lists_with_key(world: World, name: str, holder: str) -> None:
    headers = {"Authorization": f"ApiKey {world.notes[name][0]}"}
    world.call("listDelegations", headers=headers, holder_did=world.person(holder).did)


@when(parsers.parse("{name:w} revokes an IBCT of {holder:w} by its {member:w}"))
def revokes_ibct(world: World, name: str, holder: str, member: str) -> None:
    body = {"invoker": world.person(holder).did, member: "urn:uuid:token", "expiresAt": "2030-01-01T00:00:00+00:00"}
    call(world, name, "revokeIbct", "RevokeIbctRequest", body)


@when("an IBCT is revoked by its id and its nonce")
def revokes_both(world: World) -> None:
    draft = world.draft("revokeIbct")
    draft.body["nonce"] = "n"
    world.send(draft)


@when("an IBCT of what is not a DID is revoked")
def revokes_text(world: World) -> None:
    draft = world.draft("revokeIbct")
    draft.body["invoker"] = "hana"
    world.send(draft)


def signed_by_an_unregistered_did(world: World) -> None:
    send_signed_by(world, ABSENT)


def signed_by_the_dead(world: World) -> None:
    person = world.new_person("Late")
    body = {"confirm": True, "reason": "over"}
    headers = world.signed(person, "deactivateDid", body)
    world.call("deactivateDid", headers=headers, did=person.did, body=world.model("DeactivateDidRequest", body))
    send_signed_by(world, person.did)


def signed_by_the_changed(world: World) -> None:
    did = world.new_person("Late").did
    world.server.fault.write_text(world.notes["fault"])
    try:
        send_signed_by(world, did)
    finally:
        world.server.fault.unlink()


def send_signed_by(world: World, did: str) -> None:
    draft = world.notes["draft"]
    value = base64.b64encode(f"{did}.{base64url(os.urandom(SIGNATURE_OCTETS))}".encode()).decode()
    draft.headers["Authorization"] = f"DIDAuth {value}"
    world.send(draft)


# Then


@then(parsers.parse("the list has {count:d} and ends"))
def listed(world: World, count: int) -> None:
    shown = body_of(world.answer)
    assert (len(shown["items"]), shown["nextCursor"]) == (count, None)


@then(parsers.parse("what was passed on to {agent:w} is {status:w}"))
def passed_on_is(world: World, agent: str, status: str) -> None:
    (child,) = body_of(call(world, agent, "listDelegations"))["items"]
    assert (child["parentId"], child["status"]) == (world.notes["parent"], status)


@then(parsers.parse("it says that {name:w} revoked it"))
def revoked_by(world: World, name: str) -> None:
    shown = body_of(world.answer)
    assert shown["revokedBy"] == {"kind": "did", "did": world.person(name).did}
    assert shown["revokedAt"] is not None
