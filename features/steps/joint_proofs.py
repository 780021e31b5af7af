"""Agents ask for one proof of several credentials."""

from __future__ import annotations

from typing import Any

from pytest_bdd import given, then, when

from features.proving import BOTH, Proving, story
from features.steps.answers import body_of
from features.world import World


@given("Hana has two credentials that are bound to her")
def has_two(world: World) -> None:
    world.notes["proving"] = Proving(world, issued={"suite": 2})
    proving = story(world)
    world.notes["second"] = proving.issue(proving.hana, age=21)


@given("Hana has two credentials that are bound to her, and lets Aki show them together")
def shows_two(world: World) -> None:
    has_two(world)
    proving = story(world)
    proving.delegated = {"actions": ["zkp.prove.*.*", "zkp.prove.*.same", "zkp.credential", "zkp.pseudonym"]}
    proving.delegation_id = proving.delegate()


def _together(world: World, name: str, **more: Any) -> None:
    proving = story(world)
    ids = (proving.credential_id, world.notes["second"])
    parts = [{"credentialId": one, "predicates": [BOTH[0]]} for one in ids]
    same = [[{"credential": number, "attributeName": name} for number in range(2)]]
    proving.question = {"credentials": parts, "same": same, **more}
    proving.ask()


@when("Aki asks for one proof of both, from one country, under a pseudonym")
def asks_together(world: World) -> None:
    _together(world, "country", pseudonym="https://shop.example")


@when("Aki asks for one proof that her ages are the same")
def asks_the_same(world: World) -> None:
    _together(world, "age")


@then("the answer holds a proof of the whole question that anybody can verify")
def verifiable_together(world: World) -> None:
    proof, proving = body_of(world.answer)["proof"], story(world)
    issuer = world.people["Ivo"].did
    expected = [
        {"issuerDid": issuer, "schemaId": schema_id, "predicates": [BOTH[0]]} for schema_id in proving.schema_ids
    ]
    asked = {**proof, **proving.question, "credentials": expected}
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", asked))
    found = body_of(verdict)
    assert found["verified"] is True, verdict.content
    assert len(found["question"]["pseudonymValue"]) == 64
    kept = body_of(world.call("getProof", headers=world.key_header(), proof_id=proof["proofId"]))
    assert kept["question"]["same"] == found["question"]["same"] == proving.question["same"]
    assert [one["credentialId"] for one in kept["question"]["credentials"]] == [
        proving.credential_id,
        world.notes["second"],
    ]


@then("it is not valid as a proof of one credential")
def not_of_one(world: World) -> None:
    proof = next(body_of(one)["proof"] for one in world.answers if b"publicSignals" in one.content)
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", {**proof, "predicates": [BOTH[0]]}))
    assert body_of(verdict)["errors"] == ["PROOF_INVALID"]
