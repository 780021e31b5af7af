"""Verifiers check proofs; holders and operators see what came of it."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.proving import VALUES, story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import AGE, SHOP, UNKNOWN, proof_of, question
from features.world import World
from identity_core.domain import times

SCOPES = {"verify": ["zkp:verify"], "prove": ["zkp:prove"], "audit": ["audit:read"]}
MALFORMED: dict[str, dict[str, Any]] = {
    "a fraction": {"predicate": {**AGE, "value": 1.5}},
    "half a predicate": {"predicate": {"attributeName": "age"}},
    "a challenge of five letters": {"challenge": "short"},
    "a surprise": {"surprise": True},
}


# Given


@given(parsers.parse("Vera has a challenge for {domain}"))
def has_challenge(world: World, domain: str) -> None:
    answer = call(world, "Vera", "createVerifierChallenge", "CreateVerifierChallengeRequest", {"domain": domain})
    assert answer.status_code == 201, answer.content
    world.notes["challenge"] = answer.parsed.challenge


@given("Aki has a proof that is bound to it")
def bound_proof(world: World) -> None:
    story(world).body |= {"challenge": world.notes["challenge"], "domain": SHOP}
    proof_of(world)


@given("Aki has a proof about Hana")
def has_proof(world: World) -> None:
    proof_of(world)


@given(parsers.parse("Aki has a proof about Hana for {domain}"))
def has_proof_for(world: World, domain: str) -> None:
    story(world).body["domain"] = domain
    proof_of(world)


@given(parsers.parse("{name:w} has revoked the proof"))
def has_revoked(world: World, name: str) -> None:
    revokes(world, name)
    assert world.answer.status_code == 200, world.answer.content


@given(parsers.parse("{name:w} has an API key to {what:w} for {whom:w} alone"))
def has_narrow_key(world: World, name: str, what: str, whom: str) -> None:
    wish = {"name": name, "scopes": SCOPES[what], "allowedTargets": [world.person(whom).did]}
    answer = world.call("createApiKey", headers=world.key_header(), body=world.model("CreateApiKeyRequest", wish))
    world.notes[name] = (answer.parsed.api_key, answer.parsed.record.id)


@given("Vera has verified it")
def has_verified(world: World) -> None:
    verifies_stored(world, "Vera")
    assert body_of(world.answer)["verified"] is True, world.answer.content


@given("Vera has verified it for another shop")
def has_verified_wrongly(world: World) -> None:
    call(world, "Vera", "verifyProof", "VerifyProofRequest", question(world, domain="https://other.example"))


# When


@when("a stranger verifies what Aki shows")
def stranger_verifies(world: World) -> None:
    world.call("verifyProof", body=world.model("VerifyProofRequest", question(world)))


@when(parsers.parse("Vera verifies it as a proof {what}"))
def verifies_as(world: World, what: str) -> None:
    expected: dict[str, dict[str, Any]] = {
        "of what she asked": {"predicate": AGE, "domain": SHOP, "issuerDid": world.people["Ivo"].did},
        "that Hana is 21": {"predicate": {**AGE, "value": 21}},
        "for another shop": {"domain": "https://other.example"},
        "of another issuer": {"issuerDid": world.person("Mallory").did},
        "with another challenge": {"challenge": "another verifier's challenge"},
        "whose signals were edited": {"publicSignals": [*proof_of(world)["proof"]["publicSignals"][:-1], "AAAA"]},
        "whose envelope was edited": {"proof": edited(proof_of(world)["proof"]["proof"])},
        "that is none": {"proof": "e30"},
    }
    call(world, "Vera", "verifyProof", "VerifyProofRequest", question(world, **expected[what]))


def edited(text: str) -> str:
    """The envelope with another age in it, in the form that it must have."""
    octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    changed = octets.replace(b'"value":18', b'"value":10')
    assert changed != octets
    return base64.urlsafe_b64encode(changed).rstrip(b"=").decode()


@when("Vera verifies it with that challenge")
def verifies_with_challenge(world: World) -> None:
    asked = question(world, challenge=world.notes["challenge"])
    call(world, "Vera", "verifyProof", "VerifyProofRequest", asked)


@when("Vera verifies it with that challenge twice")
def verifies_with_challenge_twice(world: World) -> None:
    verifies_with_challenge(world)
    assert body_of(world.answer)["verified"] is True, world.answer.content
    verifies_with_challenge(world)


@when("Mallory verifies it with that challenge")
def steals_challenge(world: World) -> None:
    asked = question(world, challenge=world.notes["challenge"])
    call(world, "Mallory", "verifyProof", "VerifyProofRequest", asked)


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


@when(parsers.parse("somebody sends {operation_id:w} with {what}"))
def sent_with(world: World, operation_id: str, what: str) -> None:
    draft = world.draft(operation_id)
    draft.body |= MALFORMED[what]
    world.send(draft)


@when(parsers.parse("{operation_id:w} is asked about a proof that there is not"))
def unknown_proof(world: World, operation_id: str) -> None:
    draft = world.draft(operation_id)
    draft.path = draft.operation.path.replace("{proofId}", UNKNOWN)
    world.send(draft)


@when(parsers.re(r"(?P<name>\w+) sends (?P<operation_id>\w+) with the query (?P<query>\S+)"))
def sent_with_query(world: World, name: str, operation_id: str, query: str) -> None:
    draft = world.draft(operation_id)
    draft.query = dict(pair.split("=") for pair in query.split("&"))
    world.send(draft)


@when(parsers.parse("{name:w} reads the verifications"))
def reads_history(world: World, name: str) -> None:
    call(world, name, "listVerificationHistory")


@when(parsers.parse("{name:w} reads the verifications of Hana"))
def reads_history_of(world: World, name: str) -> None:
    call(world, name, "listVerificationHistory", holder_did=world.person("Hana").did)


@when(parsers.parse("{name:w} reads the verifications one by one"))
def reads_history_in_pages(world: World, name: str) -> None:
    read_pages(world, name, "listVerificationHistory")


@when(parsers.parse("{name:w} counts the verifications"))
def counts(world: World, name: str) -> None:
    call(world, name, "getVerificationStats")


@when(parsers.parse("{name:w} reads the timeline"))
def reads_timeline(world: World, name: str) -> None:
    call(world, name, "getDashboardTimeline")


@when(parsers.parse("{name:w} reads the {noun:w} in the timeline"))
def reads_kind(world: World, name: str, noun: str) -> None:
    call(world, name, "getDashboardTimeline", kind=noun.removesuffix("s"))


@when(parsers.parse("{name:w} reads the timeline one by one"))
def reads_timeline_in_pages(world: World, name: str) -> None:
    read_pages(world, name, "getDashboardTimeline")


@when(parsers.parse("{name:w} reads the timeline of tomorrow"))
def reads_future(world: World, name: str) -> None:
    call(world, name, "getDashboardTimeline", after=times.printed(datetime.now(UTC) + timedelta(days=1)))


def read_pages(world: World, name: str, operation_id: str) -> None:
    """Pages of one, until they end; the first page of all of them is kept beside."""
    whole = body_of(call(world, name, operation_id))["items"]
    pages: list[Any] = []
    more: dict[str, Any] = {}
    while more is not None:
        page = body_of(call(world, name, operation_id, limit=1, **more))
        pages += page["items"]
        following = page["nextCursor"]
        if following is None:
            break
        more = {"cursor": following}
    world.notes["pages"], world.notes["whole"] = pages, whole


@given("it was sent")
def was_sent(world: World) -> None:
    world.send(world.notes["draft"])


@when("Mallory asks for the audit log")
def mallory_audits(world: World) -> None:
    call(world, "Mallory", "listAuditLines")


@when("Olu reads the audit log")
def reads_audit(world: World) -> None:
    world.call("listAuditLines", headers=world.key_header(), limit=1000)


# Then


@then("it is verified")
def verified(world: World) -> None:
    shown = body_of(world.answer)
    assert shown["verified"] is True, shown
    assert shown["errors"] == []
    assert {check["ok"] for check in shown["checks"]} == {True}
    assert shown["predicate"] == AGE
    assert shown["proofId"] == proof_of(world)["proofId"]


@then(parsers.parse("it is refused with {code:w}"))
def refused_with(world: World, code: str) -> None:
    shown = body_of(world.answer)
    assert (shown["verified"], shown["errors"]) == (False, [code])
    assert [check["code"] for check in shown["checks"] if check["ok"] is False] == [code]


@then(parsers.parse("{names} are listed as unchecked"))
def unchecked(world: World, names: str) -> None:
    assert body_of(world.answer)["unchecked"] == names.split(", ")


@then(parsers.parse("it warns of {code:w}"))
def warns(world: World, code: str) -> None:
    assert body_of(world.answer)["warnings"] == [code]


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


@then(parsers.parse("it lists {reasons}"))
def lists(world: World, reasons: str) -> None:
    items = body_of(world.answer)["items"]
    found = [item["reasons"][0]["code"] if item["reasons"] else "a success" for item in items]
    assert found == reasons.split(", ")
    assert {item["verifierDid"] for item in items} == {world.person("Vera").did}
    assert {item["proofId"] for item in items} == {proof_of(world)["proofId"]}
    assert items[0]["predicate"] == {"attributeName": "age", "type": "gte"}
    assert no_value_in(world.answer.content)


@then("nothing is listed")
def lists_nothing(world: World) -> None:
    assert body_of(world.answer) == {"items": [], "nextCursor": None}


@then(parsers.parse("it {shows:w} whose proof it was"))
def shows_holder(world: World, shows: str) -> None:
    wanted = {"tells": world.person("Hana").did, "hides": None}[shows]
    assert {item["holderDid"] for item in body_of(world.answer)["items"]} == {wanted}


@then(parsers.parse("it counts {held:d} that held and {refused:d} that did not, for {code:w}"))
def counted(world: World, held: int, refused: int, code: str) -> None:
    assert body_of(world.answer) == {
        "total": held + refused,
        "verified": held,
        "refused": refused,
        "reasons": [{"code": code, "count": refused}],
    }


@then("the pages are the list")
def paged(world: World) -> None:
    assert world.notes["pages"] == world.notes["whole"]
    assert len(world.notes["pages"]) > 1


@then(parsers.parse("the timeline tells {kinds}"))
def tells(world: World, kinds: str) -> None:
    items = body_of(world.answer)["items"]
    assert [item["kind"] for item in items] == kinds.split(", ")
    assert no_value_in(world.answer.content)


@then("the audit log names who verified and holds together")
def chained(world: World) -> None:
    items = body_of(world.answer)["items"]
    link = bytes(32)
    for number, item in enumerate(items, 1):
        link = hashlib.sha256(b"identity audit line v1\n" + link + item["line"].encode()).digest()
        assert (item["sequence"], item["link"]) == (number, link.hex())
    lines = [json.loads(item["line"]) for item in items]
    found = [line for line in lines if line["target"] == proof_of(world)["proofId"]]
    assert [(line["operation"], line["details"]["verified"]) for line in found] == [("verifyStoredProof", True)]
    assert found[0]["fingerprint"] == hashlib.sha256(world.server.api_key.encode()).hexdigest()[:12]
    assert no_value_in(json.dumps([line["details"] for line in lines]).encode())


@then(parsers.parse("the audit log has the refusal {code:w} of {operation:w} by {name:w}"))
def refusal_told(world: World, code: str, operation: str, name: str) -> None:
    lines = [json.loads(item["line"]) for item in body_of(world.answer)["items"]]
    found = [line for line in lines if line["outcome"] == "refused" and line["operation"] == operation]
    assert [line["details"] for line in found] == [{"code": code}]
    assert [line["caller"] for line in found] == [f"did:{world.person(name).did}"]


def no_value_in(octets: bytes) -> bool:
    """Whether the holder's country is not in it; her age is too short a text to look for."""
    return f'"{VALUES["country"]}"'.encode() not in octets
