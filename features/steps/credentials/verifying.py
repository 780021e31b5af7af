"""Verifiers check credentials."""

from __future__ import annotations

from typing import Any

from pytest_bdd import parsers, then, when

from features.credentialing import ABSENT
from features.steps.answers import body_of
from features.steps.credentials.reading import no_value
from features.world import World


def verify(world: World, credential: dict[str, Any]) -> None:
    body = world.model("VerifyCredentialRequest", {"credential": credential})
    world.call("verifyCredential", body=body)


# When


@when("Vera verifies the credential")
def verifies(world: World) -> None:
    verify(world, world.notes["credential"]["credential"])


@when(parsers.parse("Vera verifies the credential with another {member:w}"))
def verifies_changed(world: World, member: str) -> None:
    shown = world.notes["credential"]["credential"]
    subject = shown["credentialSubject"]
    changed = {
        "age": {"credentialSubject": subject | {"age": 25}},
        "holder": {"credentialSubject": subject | {"id": world.person("Mallory").did}},
        "id": {"id": ABSENT},
        "member": {"evidence": "none"},
    }[member]
    verify(world, shown | changed)


# Then


@then(parsers.parse("the verdict is {outcome} by {check:w}"))
def verdict(world: World, outcome: str, check: str) -> None:
    body = body_of(world.answer)
    last = body["checks"][-1]
    assert (body["verified"], last["check"], last["ok"]) == (False, check, False)
    assert last["code"] == outcome
    no_value(world)


@then(parsers.parse("the verdict leaves the issuer's key open, by {code:w}"))
def left_open(world: World, code: str) -> None:
    body = body_of(world.answer)
    last = body["checks"][-1]
    assert (body["verified"], last["check"], last["ok"], last["code"]) == (False, "issuerKey", None, code)
    no_value(world)


@then("the verdict is good")
def good(world: World) -> None:
    body = body_of(world.answer)
    assert body["verified"] is True
    assert [check["ok"] for check in body["checks"]] == [True] * 7
