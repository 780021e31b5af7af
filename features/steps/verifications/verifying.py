"""Verifiers check the proofs that they are shown."""

from __future__ import annotations

import base64
import os
from datetime import datetime
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.proving import BOTH, story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import AGE, SHOP, proof_of, question
from features.world import World

SCOPES = {"verify": ["zkp:verify"], "prove": ["zkp:prove"], "audit": ["audit:read"]}
MALFORMED: dict[str, dict[str, Any]] = {
    "a number of 17 digits": {"predicate": {**AGE, "value": 0.1 + 0.2}},
    "predicate and predicates": {"predicate": AGE, "predicates": [AGE]},
    "no predicates": {"predicates": []},
    "seventeen predicates": {"predicates": [AGE] * 17},
    "half a predicate": {"predicate": {"attributeName": "age"}},
    "a challenge of five letters": {"challenge": "short"},
    "a surprise": {"surprise": True},
    "a kind that is none": {"kinds": ["everything"]},
    "no kind": {"kinds": []},
    "a holder that is not a DID": {"holderDid": "Hana"},
}


def edited(text: str) -> str:
    """The envelope with another age in it, in the form that it must have."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    changed = data.replace(b'"value":18', b'"value":10')
    assert changed != data
    return base64.urlsafe_b64encode(changed).rstrip(b"=").decode()


# Given


@given(parsers.parse("Vera has a challenge for {domain}"))
def has_challenge(world: World, domain: str) -> None:
    answer = call(world, "Vera", "createVerifierChallenge", "CreateVerifierChallengeRequest", {"domain": domain})
    assert answer.status_code == 201, answer.content
    world.notes["challenge"] = answer.parsed.challenge


@given("the proof shall answer it")
def shall_answer(world: World) -> None:
    story(world).body |= {"challenge": world.notes["challenge"], "domain": SHOP}


@given("Aki has a proof that is bound to it")
def bound_proof(world: World) -> None:
    shall_answer(world)
    proof_of(world)


@given("Aki has a proof about Hana")
def has_proof(world: World) -> None:
    proof_of(world)


@given("Aki has a proof that Hana is 18 and from Japan")
def has_proof_of_both(world: World) -> None:
    story(world).predicates = BOTH
    proof_of(world)


@given(parsers.parse("Aki has a proof about Hana for {domain}"))
def has_proof_for(world: World, domain: str) -> None:
    story(world).body["domain"] = domain
    proof_of(world)


@given(parsers.parse("{name:w} has an API key to {what:w} for {whom:w} alone"))
def has_narrow_key(world: World, name: str, what: str, whom: str) -> None:
    wish = {"name": name, "scopes": SCOPES[what], "allowedTargets": [world.person(whom).did]}
    answer = world.call("createApiKey", headers=world.key_header(), body=world.model("CreateApiKeyRequest", wish))
    world.notes[name] = (answer.parsed.api_key, answer.parsed.record.id)


@given("Vera has verified it for another shop")
def has_verified_wrongly(world: World) -> None:
    call(world, "Vera", "verifyProof", "VerifyProofRequest", question(world, domain="https://other.example"))


@given("it was sent")
def was_sent(world: World) -> None:
    world.send(world.notes["draft"])


# When


@when("a stranger verifies what Aki shows")
def stranger_verifies(world: World) -> None:
    world.call("verifyProof", body=world.model("VerifyProofRequest", question(world)))


@when(parsers.parse("Vera verifies it as a proof {what}"))
def verifies_as(world: World, what: str) -> None:
    expected: dict[str, dict[str, Any]] = {
        "of exactly what she asked": {
            "predicate": AGE,
            "domain": SHOP,
            "issuerDid": world.people["Ivo"].did,
            "challenge": story(world).body.get("challenge"),
        },
        "of what she asked": {"predicate": AGE, "domain": SHOP, "issuerDid": world.people["Ivo"].did},
        "by a status list of this hour": {"statusMaxAge": 3600},
        "of both predicates": {"predicates": BOTH},
        "that Hana is 18 alone": {"predicates": [AGE]},
        "of both the other way": {"predicates": BOTH[::-1]},
        "of both and one more": {"predicates": [*BOTH, AGE]},
        "that Hana is 21": {"predicate": {**AGE, "value": 21}},
        "for another shop": {"domain": "https://other.example"},
        "of another issuer": {"issuerDid": world.person("Mallory").did},
        "with another challenge": {"challenge": "another verifier's challenge"},
        "whose signals were edited": {"publicSignals": [*proof_of(world)["proof"]["publicSignals"][:-1], "AAAA"]},
        "whose envelope was edited": {"proof": edited(proof_of(world)["proof"]["proof"])},
        "of this very instant": {"maxAge": 0},
        "that an agent handed over": {"agentKey": world.person("Aki").created["keys"]["authentication"]["publicKey"]},
        "with a consent in advance": {"consentCover": 13},
        "that needs no record": {"requires": ["holder", "credentialValidity", "credentialStatus"]},
        "that is none": {"proof": "e30"},
    }
    call(world, "Vera", "verifyProof", "VerifyProofRequest", question(world, **expected[what]))


@when(parsers.parse("{name:w} verifies the shown proof"))
def verifies_shown(world: World, name: str) -> None:
    call(world, name, "verifyProof", "VerifyProofRequest", question(world))


def verifies_with_challenge(world: World, name: str = "Vera", **more: Any) -> Any:
    asked = question(world, challenge=world.notes["challenge"])
    return call(world, name, "verifyProof", "VerifyProofRequest", asked, **more)


@when("Vera verifies it with that challenge twice")
def verifies_with_challenge_twice(world: World) -> None:
    verifies_with_challenge(world)
    assert body_of(world.answer)["verified"] is True, world.answer.content
    verifies_with_challenge(world)


@when("Vera verifies it with that challenge again after a lost answer")
def repeats_with_challenge(world: World) -> None:
    world.notes["key"] = os.urandom(8).hex()
    world.notes["twice"] = [verifies_with_challenge(world, idempotency_key=world.notes["key"]) for _ in range(2)]


@when("Vera verifies the stored proof with that challenge again after a lost answer")
def repeats_stored_with_challenge(world: World) -> None:
    asked, more = {"challenge": world.notes["challenge"]}, {"idempotency_key": os.urandom(8).hex()}
    more["proof_id"] = proof_of(world)["proofId"]
    model = "VerifyStoredProofRequest"
    world.notes["twice"] = [call(world, "Vera", "verifyStoredProof", model, asked, **more) for _ in range(2)]


@when("Vera verifies it with that challenge in another request")
def verifies_with_challenge_later(world: World) -> None:
    verifies_with_challenge(world, idempotency_key=os.urandom(8).hex())


@when("Mallory verifies it with that challenge and Idempotency-Key")
def steals_challenge_and_key(world: World) -> None:
    verifies_with_challenge(world, "Mallory", idempotency_key=world.notes["key"])


@when("Mallory verifies it with that challenge")
def steals_challenge(world: World) -> None:
    verifies_with_challenge(world, "Mallory")


@when(parsers.parse("a client sends {operation_id:w} with {what}"))
def sent_with(world: World, operation_id: str, what: str) -> None:
    draft = world.draft(operation_id)
    draft.body |= MALFORMED[what]
    world.send(draft)


@when(parsers.re(r"(?P<name>\w+) sends (?P<operation_id>\w+) with the query (?P<query>\S+)"))
def sent_with_query(world: World, name: str, operation_id: str, query: str) -> None:
    draft = world.draft(operation_id)
    draft.query = dict(pair.split("=") for pair in query.split("&"))
    world.send(draft)


# Then


@then("its verdict is valid")
def is_valid(world: World) -> None:
    shown = body_of(world.answer)
    assert (shown["verdict"], shown["missing"], shown["verified"]) == ("valid", [], True), shown


@then(parsers.parse("its verdict is unbound without {names}"))
def is_unbound(world: World, names: str) -> None:
    shown = body_of(world.answer)
    assert (shown["verdict"], shown["missing"], shown["verified"]) == ("unbound", names.split(", "), True), shown


@then(parsers.parse("its verdict is invalid, with {found} found in place of {expected}"))
def is_invalid(world: World, found: str, expected: str) -> None:
    shown = body_of(world.answer)
    assert (shown["verdict"], shown["verified"]) == ("invalid", False)
    wrong = next(check for check in shown["checks"] if check["ok"] is False)
    assert (wrong["expected"], wrong["found"]) == (expected, found)


@then("it is verified")
def verified(world: World) -> None:
    shown = body_of(world.answer)
    assert shown["verified"] is True, shown
    assert shown["errors"] == []
    assert {check["ok"] for check in shown["checks"]} == {True}
    asked = story(world).predicates or [AGE]
    assert (shown["predicates"], shown["predicate"]) == (asked, AGE if asked == [AGE] else None)
    assert shown["proofId"] == proof_of(world)["proofId"]


@then(parsers.parse("it is refused with {code:w}"))
def refused_with(world: World, code: str) -> None:
    shown = body_of(world.answer)
    assert (shown["verified"], shown["errors"]) == (False, [code])
    assert [check["code"] for check in shown["checks"] if check["ok"] is False] == [code]


@then(parsers.parse("it is refused with {code:w} by {names}"))
def refused_by(world: World, code: str, names: str) -> None:
    shown = body_of(world.answer)
    assert (shown["verified"], shown["errors"]) == (False, [code])
    assert [check["check"] for check in shown["checks"] if check["ok"] is False] == names.split(", ")


@then(parsers.parse("{names} are listed as unchecked"))
def unchecked(world: World, names: str) -> None:
    assert body_of(world.answer)["unchecked"] == names.split(", ")


@then("what became of credential, holder and proof is listed as unchecked")
def never_proven(world: World) -> None:
    listed = {"holder", "credentialValidity", "credentialStatus", "revocation"}
    assert listed <= set(body_of(world.answer)["unchecked"])


@then(parsers.parse("it warns of {code:w}"))
def warns(world: World, code: str) -> None:
    assert body_of(world.answer)["warnings"] == [code]


@then("it names no status list")
def names_no_list(world: World) -> None:
    assert "statusLists" not in body_of(world.answer)


@then("it names the published status list by which it states that")
def names_its_list(world: World) -> None:
    """The verifier learns as of which time the credential was not revoked."""
    (named,) = body_of(world.answer)["statusLists"]
    answer = world.call("getStatusGaps", gap_list_id=named["listId"], epoch=str(named["epoch"]))
    assert answer.status_code == 200, answer.content
    listed = body_of(answer)
    assert listed["issuer"] == world.people["Ivo"].did
    begins, ends = (datetime.fromisoformat(named[name]) for name in ("begins", "ends"))
    assert begins.timestamp() == named["epoch"] * listed["period"]
    assert (ends - begins).total_seconds() == listed["period"]
