"""A holder begins the count of questions about a credential anew."""

from __future__ import annotations

import uuid
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.delegating import ABSENT
from features.proving import story
from features.signing import call, signature
from features.steps.answers import body_of
from features.steps.delegation_life import send_signed_by
from features.world import World

OPERATION = "resetDisclosures"
THRESHOLDS = (18, 21, 25)
MORE = (26, 27, 28, 29)


def wish(world: World) -> dict[str, str]:
    return {"credentialId": story(world).credential_id}


def answered(world: World, by: str, thresholds: tuple[int, ...]) -> int:
    """How many of the questions got an answer; Hana is older than all of these."""
    told, count = story(world), 0
    for threshold in thresholds:
        told.predicate = {"attributeName": "age", "type": "gte", "value": threshold}
        answer = told.ask(by=by)
        if answer.status_code == 201:
            count += 1
        else:
            assert body_of(answer)["error"]["code"] == "DISCLOSURE_LIMIT"
    return count


# Given


@given("Aki has had every question about Hana's age answered that there is")
def all_answered(world: World) -> None:
    told = story(world)
    told.delegated = {"maxThresholds": None, "maxRefusals": None}
    told.delegation_id = told.delegate()
    assert answered(world, "Aki", (*THRESHOLDS, 30)) == len(THRESHOLDS)


# When


@when(parsers.parse("{name:w} begins the count of questions anew"))
def resets(world: World, name: str) -> None:
    world.notes["answer"] = call(world, name, OPERATION, "ResetDisclosuresRequest", wish(world))


@when("Hana begins the count of questions of nothing anew")
def resets_nothing(world: World) -> None:
    draft = world.draft(OPERATION)
    draft.body = {"credentialId": ""}
    draft.headers = signature(world, world.person("Hana"), OPERATION, draft.body)
    world.send(draft)


@when(parsers.parse("the count of questions is begun anew with {what}"))
def resets_unsigned(world: World, what: str) -> None:
    body, hana = wish(world), world.person("Hana")
    headers = world.key_header()
    if what == "Hana's token":
        asked: dict[str, Any] = {}
        signed = world.signed(hana, "issueToken", asked)
        made = world.call("issueToken", headers=signed, body=world.model("IssueTokenRequest", asked))
        headers = {"Authorization": f"Bearer {body_of(made)['access_token']}"}
    world.call(OPERATION, headers=headers, body=world.model("ResetDisclosuresRequest", body))


@when("the fault strikes and it is sent under the signature of an unregistered DID")
def sent_in_a_fault(world: World) -> None:
    world.server.fault.write_text(world.notes["fault"])
    try:
        send_signed_by(world, ABSENT)
    finally:
        world.server.fault.unlink()


# Then


@then("Hana's timeline tells of it")
def told_in_timeline(world: World) -> None:
    (item,) = body_of(call(world, "Hana", "getDashboardTimeline", kind="credential.disclosuresReset"))["items"]
    assert (item["credentialId"], item["actor"]) == (wish(world)["credentialId"], f"did:{world.person('Hana').did}")


@then(parsers.parse("a new agent of Hana's gets {count:d} questions answered"))
def new_agent(world: World, count: int) -> None:
    name = f"Agent{uuid.uuid4().hex}"
    told = story(world)
    told.aki = world.person(name)
    told.delegation_id = told.delegate()
    assert answered(world, "Aki", MORE) == count


@then(parsers.parse("Aki gets {count:d} questions answered"))
def old_agent(world: World, count: int) -> None:
    assert answered(world, "Aki", MORE) == count


@then(parsers.parse("Aki gets {count:d} questions answered under a delegation that is new"))
def old_agent_anew(world: World, count: int) -> None:
    story(world).delegation_id = story(world).delegate()
    assert answered(world, "Aki", MORE) == count
