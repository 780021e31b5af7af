"""Verifiers ask as VCALM has it."""

from __future__ import annotations

import json
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.credentialing import issued
from features.steps.answers import body_of
from features.world import World
from plugins.vcalm.features.stories import DOMAIN, OWN_CHALLENGE, disclosed, presentation

PERIODS = {
    "not yet valid": {"validFrom": "2999-01-01T00:00:00Z"},
    "no longer valid": {"validUntil": "2026-01-02T00:00:00Z"},
    "of unknown status": {"credentialStatus": {"id": "https://elsewhere.example/1#2", "type": "Elsewhere"}},
}


def verify(world: World, credential: dict[str, Any], **options: Any) -> None:
    body = {"verifiableCredential": credential, "options": {"returnCredential": True, "returnResults": True} | options}
    world.call("verifyVcalmCredential", body=world.model("VerifyVcalmCredentialRequest", body))


def present(
    world: World, shown: dict[str, Any], challenge: str | None, domain: str | None = DOMAIN, **more: Any
) -> None:
    said = {"challenge": challenge, "domain": domain} | more
    options = {"returnPresentation": True, "returnResults": True} | {k: v for k, v in said.items() if v is not None}
    body = {"verifiablePresentation": shown, "options": options}
    world.call("verifyVcalmPresentation", body=world.model("VerifyVcalmPresentationRequest", body))


# Given


@given("Hana discloses a part of a credential of Ivo's")
def discloses(world: World) -> None:
    world.notes["shown"] = disclosed(world)


@given(parsers.re(r"Hana discloses a credential that is (?P<state>not yet valid|no longer valid|of unknown status)"))
def out_of_time(world: World, state: str) -> None:
    world.notes["shown"] = disclosed(world, **PERIODS[state])


@given("Vera has a challenge of VCALM")
def challenged(world: World) -> None:
    world.call("createVcalmChallenge")
    world.notes["challenge"] = world.answer.parsed.challenge


@given("Hana presents it for that challenge")
def presents(world: World) -> None:
    world.notes["presentation"] = presentation(world, world.notes["challenge"], world.notes["shown"])


# When


@when("Vera has it verified by VCALM")
def verifies(world: World) -> None:
    verify(world, world.notes["shown"])


@when("Vera has it verified by VCALM and looks for the status herself")
def verifies_without_status(world: World) -> None:
    verify(world, world.notes["shown"], checks=["proof"])


@when("Vera has it verified by VCALM with more checks than that of the proof")
def verifies_with_checks(world: World) -> None:
    verify(world, world.notes["shown"], checks=["proof", "credentialStatus"])


@when("Vera has the presentation verified and looks for the status herself")
def has_presentation_verified_without_status(world: World) -> None:
    present(world, world.notes["presentation"], world.notes["challenge"], checks=["proof"])


@when("Vera has a credential of this service verified by VCALM")
def verifies_own(world: World) -> None:
    world.notes["shown"] = issued(world)["credential"]
    verify(world, world.notes["shown"])


@when(parsers.parse("Vera has it verified by VCALM with another {member:w}"))
def verifies_changed(world: World, member: str) -> None:
    shown = world.notes["shown"]
    changed: dict[str, Any] = {
        "age": {"credentialSubject": shown["credentialSubject"] | {"age": 25}},
        "issuer": {"issuer": world.person("Mallory").did},
        "key": {
            "issuer": world.person("Mallory").did,
            "proof": shown["proof"] | {"verificationMethod": world.person("Mallory").did + "#zUC7"},
        },
        "context": {"@context": [shown["@context"][0], "https://attacker.example/context"]},
        "suite": {"proof": shown["proof"] | {"cryptosuite": "bbs-2099"}},
        "proof": {"proof": shown["proof"] | {"proofValue": "u2V0DhQ"}},
    }[member]
    verify(world, json.loads(json.dumps(shown | changed)))


@when("Vera has the presentation verified")
def has_presentation_verified(world: World) -> None:
    present(world, world.notes["presentation"], world.notes["challenge"])


@when(parsers.parse("Vera has a presentation verified with another {part:w}"))
def has_changed_presentation_verified(world: World, part: str) -> None:
    shown = presentation(world, OWN_CHALLENGE, disclosed(world))
    challenge, domain = OWN_CHALLENGE, DOMAIN
    mallory = world.person("Mallory").did
    if part == "challenge":
        challenge = "another challenge"
    elif part == "domain":
        domain = "https://elsewhere.example"
    elif part == "holder":
        shown |= {"holder": mallory}
    elif part == "signer":
        method = mallory + "#" + shown["proof"]["verificationMethod"].partition("#")[2]
        shown |= {"holder": mallory, "proof": shown["proof"] | {"verificationMethod": method}}
    elif part == "credential":
        shown |= {"verifiableCredential": []}
    elif part == "purpose":
        shown |= {"proof": shown["proof"] | {"proofPurpose": "assertionMethod"}}
    elif part == "age":
        credential = disclosed(world)
        credential["credentialSubject"] |= {"age": 25}
        shown = presentation(world, OWN_CHALLENGE, credential)
    elif part == "member":
        shown |= {"evidence": "none"}
    present(world, shown, challenge, domain)


@when("Vera has a presentation verified for a challenge that was not issued")
def forged_challenge(world: World) -> None:
    challenge = "vcalm_" + "A" * 75
    present(world, presentation(world, challenge, disclosed(world)), challenge)


# Then


@then(parsers.re(r"VCALM finds nothing wrong and warns of (?P<problem>[A-Z_]+)"))
def warns(world: World, problem: str) -> None:
    body = body_of(world.answer)
    assert body["verified"] is True, body
    assert [one["title"] for one in body["problemDetails"]] == [problem]
    results = body["results"]
    assert results.get("credentialStatus", [{"verified": False}]) == [{"verified": False}]
    assert all(one["verified"] for one in results["proof"] + results.get("credentials", []))


@then("VCALM finds nothing wrong")
def nothing_wrong(world: World) -> None:
    body = body_of(world.answer)
    assert body["verified"] is True, body
    assert body["problemDetails"] == []
    assert all(result["verified"] for result in body["results"]["proof"])
    shown = body.get("credential") or body["verifiablePresentation"]["verifiableCredential"][0]
    assert shown["credentialSubject"]["age"] == 24


@then(parsers.re(r"VCALM finds (?P<problem>[A-Z_]+)"))
def finds(world: World, problem: str) -> None:
    body = body_of(world.answer)
    assert body["verified"] is False
    assert [one["title"] for one in body["problemDetails"]] == [problem]
    assert body["problemDetails"][0]["type"].endswith(f"#{problem}")
    assert "credential" not in body
    assert "verifiablePresentation" not in body
    assert "Wakanda" not in json.dumps(body)
