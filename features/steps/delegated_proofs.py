"""Agents ask for proofs about holders."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pytest_bdd import given, parsers, then, when

from features.delegating import change, wait_until_expired
from features.formats import printed
from features.proof_flaws import FLAWS, TERMS
from features.proving import BOTH, MODELS, Proving, story
from features.steps.answers import body_of
from features.world import World

# Given


@given("what is proved is a presentation")
def presents(world: World) -> None:
    world.notes["presents"] = True


@given(parsers.parse("Hana lets Aki prove {what}"))
def lets_within(world: World, what: str) -> None:
    proving = Proving(world, delegated=TERMS[what])
    world.notes["proving"] = proving
    proving.begin()
    if "expiresAt" in proving.delegated:
        wait_until_expired(world, "Hana", proving.delegation_id)


@given("Hana's credential is valid from tomorrow on")
def not_yet(world: World) -> None:
    tomorrow = printed(datetime.now(UTC) + timedelta(days=1))
    world.notes["proving"] = Proving(world, issued={"validFrom": tomorrow})
    story(world)


@given("Hana's credential is bound to her")
def is_bound(world: World) -> None:
    world.notes["proving"] = Proving(world, issued={"suite": 2})
    story(world)


@given("Hana lets Aki ask what her values are not")
def lets_ask_neq(world: World) -> None:
    proving = story(world)
    proving.delegated = {"actions": ["zkp.prove.*.neq"]}
    proving.delegation_id = proving.delegate()


@given("Hana's credential is of suite 1")
def is_not_bound(world: World) -> None:
    world.notes["proving"] = Proving(world, issued={"suite": 1})
    story(world)


@given(parsers.parse("Ivo has made the {purpose:w} of her credential known"))
def status(world: World, purpose: str) -> None:
    story(world).change_status(purpose)


@given("Hana pins the value 18 in her token")
def pinned(world: World) -> None:
    story(world).token["action"] = "zkp.prove.age.gte.18"


@given(parsers.parse("Hana has {verb} the delegation"))
def has_changed(world: World, verb: str) -> None:
    operation_id = {"revoked": "revokeDelegation", "suspended": "suspendDelegation"}[verb]
    assert change(world, "Hana", operation_id, story(world).delegation_id).status_code == 200


@given("Hana has called her token back")
def called_back(world: World) -> None:
    proving = story(world)
    request = proving.request()
    proving.body["ibct"] = request["ibct"]
    body = {"invoker": proving.hana.did, "nonce": request["ibct"]["nonce"]}
    done = world.call("revokeIbct", headers=world.key_header(), body=world.model("RevokeIbctRequest", body))
    assert done.status_code == 200, done.content


@given(parsers.parse("{name:w} has left for good"))
def deactivate_person(world: World, name: str) -> None:
    proving = story(world)
    person = world.people[name]
    proving.body["ibct"] = proving.signed_token()
    body = {"confirm": True, "reason": "the end"}
    headers = world.signed(person, "deactivateDid", body)
    world.call("deactivateDid", headers=headers, did=person.did, body=world.model("DeactivateDidRequest", body))


@given(parsers.parse("Aki has asked whether she is {years:d}"))
def has_asked(world: World, years: int) -> None:
    asks(world, years)


# When


@when(parsers.parse("Aki asks whether she is {years:d}"))
def asks(world: World, years: int) -> None:
    proving = story(world)
    proving.predicate["value"] = years
    proving.ask()


@when("Aki asks whether she is 18 and from Japan")
def asks_both(world: World) -> None:
    proving = story(world)
    proving.predicates = BOTH
    proving.ask()


@when("Aki asks whether she is 18 and from France")
def asks_both_in_vain(world: World) -> None:
    proving = story(world)
    proving.predicates = [BOTH[0], {**BOTH[1], "value": ["DE", "FR"]}]
    proving.ask()


@when("Aki asks whether she is not from France")
def asks_what_is_not(world: World) -> None:
    proving = story(world)
    proving.predicates = [{"attributeName": "country", "type": "neq", "value": "FR"}]
    proving.ask()


@when(parsers.parse("{name:w} asks with {flaw}"))
def asks_badly(world: World, name: str, flaw: str) -> None:
    proving = story(world)
    FLAWS[flaw](proving)
    draft = world.draft(proving.operation_id)
    if name == "Olu":
        world.send(draft)
    else:
        proving.ask(draft.body, by=name)


@when(parsers.parse("{name:w} asks for the same proof"))
def asks_as(world: World, name: str) -> None:
    story(world).ask(by=name)


@when("Aki shows an access token and asks")
def asks_with_token(world: World) -> None:
    proving = story(world)
    issued = world.call(
        "issueToken", headers=world.signed(proving.aki, "issueToken", {}), body=world.model("IssueTokenRequest", {})
    )
    made = world.model(MODELS[proving.operation_id], proving.request())
    headers = {"Authorization": f"Bearer {issued.parsed.access_token}"}
    world.call(proving.operation_id, headers=headers, body=made)


@when("Aki asks the same twice")
def asks_twice(world: World) -> None:
    proving = story(world)
    request = proving.request()
    world.notes["twice"] = (proving.ask(request), proving.ask(request))


@when("Aki asks the same twice, for an age that she has not")
def asks_in_vain_twice(world: World) -> None:
    story(world).predicate["value"] = 90
    asks_twice(world)


@when("Aki uses the token for another question")
def uses_again(world: World) -> None:
    proving = story(world)
    proving.body["ibct"] = proving.signed_token()
    assert proving.ask().status_code == 201, world.answer.content
    proving.predicate["value"] = 21
    proving.ask()


@when("Aki uses a refused token for another question")
def uses_refused(world: World) -> None:
    proving = story(world)
    proving.body["ibct"] = proving.signed_token()
    proving.predicate["value"] = 0
    assert proving.ask().status_code == 422, world.answer.content
    proving.predicate["value"] = 18
    proving.ask()


@when("it is sent again while its proof is being made")
def sent_meanwhile(world: World) -> None:
    world.send_meanwhile(world.notes["draft"], world.notes["draft"])


# Then


@then("the answer holds a proof of it that anybody can verify")
def verifiable(world: World) -> None:
    made = body_of(world.answer)
    proof, proving = made["proof"], story(world)
    assert made["delegationId"] == proving.delegation_id
    assert made["anchor"] is None
    assert proof["proofId"] == made["proofId"]
    assert proof["publicSignals"][3:6] == ["age", "gte", str(proving.predicate["value"])]
    asked = {**proof, "predicate": proving.predicate}
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", asked))
    assert verdict.parsed.verified is True, verdict.content


@then("the answer holds one proof of both that anybody can verify")
def verifiable_both(world: World) -> None:
    proof = body_of(world.answer)["proof"]
    assert proof["predicateType"] == "gte,set_member"
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", {**proof, "predicates": BOTH}))
    found = body_of(verdict)
    assert (found["verified"], len(found["predicates"]), found["predicate"]) == (True, 2, None), verdict.content
    kept = world.call("getProof", headers=world.key_header(), proof_id=proof["proofId"])
    shown = body_of(kept)
    assert (shown["predicates"], shown["predicate"]) == (found["predicates"], found["predicates"][0])


@then("the answer holds a proof of what was asked that anybody can verify")
def verifiable_as_asked(world: World) -> None:
    proof, asked = body_of(world.answer)["proof"], story(world).predicates
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", {**proof, "predicates": asked}))
    assert verdict.parsed.verified is True, verdict.content


@then("it says itself that she agreed, and that the credential is valid and not revoked")
def says_all(world: World) -> None:
    proof = next(body_of(one)["proof"] for one in world.answers if b"publicSignals" in one.content)
    assert proof["publicSignals"][0] == "identity-bbs-predicates-2"
    asked = {**proof, "requires": ["holder", "credentialValidity", "credentialStatus"]}
    verdict = world.call("verifyProof", body=world.model("VerifyProofRequest", asked))
    found = body_of(verdict)
    assert found["verified"] is True, verdict.content
    assert {"holder", "credentialValidity", "credentialStatus"} <= {check["check"] for check in found["checks"]}
    assert "revocation" in found["unchecked"]
    assert {"holder", "credentialValidity", "credentialStatus"}.isdisjoint(found["unchecked"])


@then("both answers are the same proof")
def same_proof(world: World) -> None:
    first, second = world.notes["twice"]
    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"


@then("both answers are the same refusal")
def same_refusal(world: World) -> None:
    answers = [body_of(answer)["error"] for answer in world.notes["twice"]]
    for answer in answers:
        answer["details"].pop("requestId")
    assert answers[0] == answers[1]
    assert world.notes["twice"][1].headers["idempotent-replayed"] == "true"


@then("the refusal does not tell her age")
def tells_nothing(world: World) -> None:
    assert b"37" not in world.answer.content.replace(
        body_of(world.answer)["error"]["details"]["requestId"].encode(), b""
    )
