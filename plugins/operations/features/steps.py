"""A holder erases what is kept about her."""

from __future__ import annotations

from pytest_bdd import parsers, then, when

from features.document import Operation
from features.proving import story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import UNKNOWN_HOLDER, proof_of
from features.world import DRAFTS, Draft, World

REQUEST = "EraseRecordsRequest"


def _drafted(world: World, operation: Operation) -> Draft:
    """An operator erases."""
    body = {"kinds": ["timeline"], "holderDid": UNKNOWN_HOLDER}
    return Draft(operation, operation.path, headers=world.key_header(), body=body)


DRAFTS["eraseRecords"] = _drafted

# When


@when(parsers.parse("{name:w} erases her {kinds}"))
def erases(world: World, name: str, kinds: str) -> None:
    call(world, name, "eraseRecords", REQUEST, {"kinds": kinds.split(", ")})


@when(parsers.parse("{name:w} erases the records of {whom:w}"))
def erases_anothers(world: World, name: str, whom: str) -> None:
    call(world, name, "eraseRecords", REQUEST, {"kinds": ["proofs"], "holderDid": world.person(whom).did})


@when("Olu erases records and does not say whose")
def erases_nobodys(world: World) -> None:
    draft = world.draft("eraseRecords")
    del draft.body["holderDid"]
    world.send(draft)


# Then


@then(parsers.re(r"(?P<counts>\d+ .*) are erased"))
def erased(world: World, counts: str) -> None:
    said = body_of(world.answer)
    expected = dict.fromkeys(("credentials", "proofs", "timeline", "verifications", "labels", "requests"), 0)
    expected |= {kind: int(count) for count, kind in (one.split() for one in counts.split(", "))}
    assert (said["holderDid"], said["erased"], said["waiting"]) == (world.person("Hana").did, expected, 0)


@then("Hana has no timeline any more")
def no_timeline(world: World) -> None:
    assert body_of(call(world, "Hana", "getDashboardTimeline"))["items"] == []


@then("the proof is not to be found")
def no_proof(world: World) -> None:
    for name in ("Hana", "Aki"):
        answer = call(world, name, "getProof", proof_id=proof_of(world)["proofId"])
        assert (answer.status_code, body_of(answer)["error"]["code"]) == (404, "PROOF_NOT_FOUND")


@then("the proof is still there")
def still_proof(world: World) -> None:
    assert call(world, "Hana", "getProof", proof_id=proof_of(world)["proofId"]).status_code == 200


@then("the credential is not to be found by Hana")
def no_credential(world: World) -> None:
    answer = call(world, "Hana", "getCredential", credential_id=story(world).credential_id)
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (404, "CREDENTIAL_NOT_FOUND")
