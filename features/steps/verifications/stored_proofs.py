"""Steps of stored proofs: read, verified again, revoked."""

from __future__ import annotations

from pytest_bdd import given, parsers, then, when

from features.signing import call
from features.steps.answers import body_of
from features.steps.verifications.answers import no_value_in
from features.verifying import AGE, UNKNOWN, proof_of
from features.world import World

# Given


@given(parsers.parse("{name:w} has revoked the proof"))
def has_revoked(world: World, name: str) -> None:
    revokes(world, name)
    assert world.answer.status_code == 200, world.answer.content


@given("Vera has verified it")
def has_verified(world: World) -> None:
    verifies_stored(world, "Vera")
    assert body_of(world.answer)["verified"] is True, world.answer.content


# When


@when(parsers.parse("{name:w} verifies the stored proof"))
def verifies_stored(world: World, name: str) -> None:
    proof_id = proof_of(world)["proofId"]
    call(world, name, "verifyStoredProof", "VerifyStoredProofRequest", {}, proof_id=proof_id)


@when(parsers.parse("{name:w} looks at the proof"))
def looks(world: World, name: str) -> None:
    call(world, name, "getProof", proof_id=proof_of(world)["proofId"])


@when(parsers.parse("{name:w} revokes the proof"))
def revokes(world: World, name: str) -> None:
    body = {"reason": "changed my mind"}
    call(world, name, "revokeProof", "RevokeProofRequest", body, proof_id=proof_of(world)["proofId"])


@when(parsers.parse("{operation_id:w} is asked about a proof that there is not"))
def unknown_proof(world: World, operation_id: str) -> None:
    draft = world.draft(operation_id)
    draft.path = draft.operation.path.replace("{proofId}", UNKNOWN)
    world.send(draft)


# Then


@then("it shows the proof and no attribute")
def shows_record(world: World) -> None:
    shown, made = body_of(world.answer), proof_of(world)
    assert shown["proof"] == made["proof"]
    assert shown["predicate"] == AGE
    assert (shown["delegationId"], shown["anchor"]) == (made["delegationId"], None)
    assert no_value_in(world.answer.content)


@then(parsers.parse("it says that {name:w} took the proof back"))
def taken_back(world: World, name: str) -> None:
    shown = body_of(world.answer)
    assert shown["revokedBy"].endswith(world.person(name).did)
    assert shown["revocationReason"] == "changed my mind"
    assert shown["revokedAt"] is not None
