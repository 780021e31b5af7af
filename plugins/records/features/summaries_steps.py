"""A holder suspends several delegations at once, and an issuer counts its credentials."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from pytest_bdd import given, parsers, then, when

from features.credentialing import issued
from features.delegating import ABSENT, in_days, remember
from features.document import Operation
from features.signing import call
from features.steps.answers import body_of
from features.steps.dids.changing import act
from features.world import DRAFTS, Draft, World


def _drafted(world: World, operation: Operation) -> Draft:
    """An operator names Aki, or counts the credentials of Ivo."""
    if operation.operation_id == "describeDids":
        body = {"dids": [world.new_person("Aki").did]}
        return Draft(operation, operation.path, headers=world.key_header(), body=body)
    if operation.operation_id == "suspendDelegations":
        body = {"agentDid": world.new_person("Aki").did}
        return Draft(operation, operation.path, headers=world.key_header(), body=body)
    query = {"issuerDid": world.new_person("Ivo").did}
    return Draft(operation, operation.path, headers=world.key_header(), query=query)


DRAFTS |= dict.fromkeys(("suspendDelegations", "getCredentialStats", "describeDids"), _drafted)


@given(parsers.parse("{holder:w} gives {agent:w} a delegation"))
def has_delegated(world: World, holder: str, agent: str) -> None:
    made = world.notes.setdefault("made", {})
    made.setdefault(agent, []).append(remember(world, holder, agent))


def _send(world: World, name: str, body: dict[str, Any]) -> None:
    call(world, name, "suspendDelegations", "SuspendDelegationsRequest", body)


@when(parsers.parse("{name:w} suspends all delegations"))
def suspends_all(world: World, name: str) -> None:
    _send(world, name, {"all": True})


@when(parsers.parse("{name:w} suspends the delegations to {agent:w}"))
def suspends_those_to(world: World, name: str, agent: str) -> None:
    _send(world, name, {"agentDid": world.person(agent).did})


@when(parsers.parse("{name:w} suspends the delegations to shop.example"))
def suspends_those_to_no_did(world: World, name: str) -> None:
    _send(world, name, {"agentDid": "shop.example"})


@when(parsers.parse("{name:w} suspends delegations and names none"))
def suspends_none(world: World, name: str) -> None:
    _send(world, name, {})


@when("the operator suspends all delegations")
def operator_suspends_all(world: World) -> None:
    wish = world.model("SuspendDelegationsRequest", {"all": True})
    world.call("suspendDelegations", headers=world.key_header(), body=wish)


@then(parsers.parse("the delegations to {agents} are suspended"))
def are_suspended(world: World, agents: str) -> None:
    answer = body_of(world.answer)
    expected = [one for agent in agents.split(" and ") for one in world.notes["made"][agent]]
    assert (sorted(answer["suspended"]), answer["failed"]) == (sorted(expected), [])


@then(parsers.parse("{holder:w} reads that {agent:w} is {status:w}"))
def reads_status(world: World, holder: str, agent: str, status: str) -> None:
    for one in world.notes["made"][agent]:
        assert call(world, holder, "getDelegation", delegation_id=one).parsed.status == status


@then("no delegation is suspended")
def none_is_suspended(world: World) -> None:
    assert body_of(world.answer) == {"suspended": [], "failed": []}


@given("Ivo has issued three credentials, of which one is revoked and one is suspended")
def has_issued(world: World) -> None:
    for status in ("active", "revocation", "suspension"):
        record = issued(world)
        if status != "active":
            wish = world.model("SetCredentialStatusRequest", {"purpose": status, "value": True})
            answer = world.call(
                "setCredentialStatus", headers=world.key_header(), credential_id=record["id"], body=wish
            )
            assert answer.status_code == 200, answer.content


@given("Ivo has issued a credential that ends in ten days")
def has_issued_for_ten_days(world: World) -> None:
    issued(world, validUntil=in_days(10))


@when(parsers.parse("{name:w} counts the credentials of {issuer:w}"))
def counts(world: World, name: str, issuer: str) -> None:
    call(world, name, "getCredentialStats", issuer_did=world.person(issuer).did)


@when(parsers.parse("{name:w} counts the credentials of shop.example"))
def counts_those_of_no_did(world: World, name: str) -> None:
    call(world, name, "getCredentialStats", issuer_did="shop.example")


@then(parsers.parse("{valid:d} are valid, {suspended:d} suspended, {revoked:d} revoked and {ending:d} end soon"))
def are_counted(world: World, valid: int, suspended: int, revoked: int, ending: int) -> None:
    answer = body_of(world.answer)
    expected = {"valid": valid, "suspended": suspended, "revoked": revoked, "endingIn30Days": ending}
    assert answer["items"] == [{"schemaId": world.notes["schema"]} | expected]
    times = [datetime.fromisoformat(answer["statusList"][name]) for name in ("publishedAt", "nextAt")]
    assert times[1] - times[0] == timedelta(seconds=60)


@then("there are no credentials and no status list")
def are_none(world: World) -> None:
    assert body_of(world.answer) == {"items": [], "statusList": {"publishedAt": None, "nextAt": None}}


@given(parsers.parse('{name:w} has a DID that claims the name "{claim}"'))
def claims_name(world: World, name: str, claim: str) -> None:
    person = world.new_person(name)
    service = {"id": "#name", "type": "ProfileName", "serviceEndpoint": "urn:identity-service:name:" + quote(claim)}
    changed = act(world, person, "updateDid", {"operation": "addService", "service": service})
    assert changed.status_code == 200, changed.content


@when(parsers.parse("{name:w} describes {other:w} and a DID that is unknown"))
def describes(world: World, name: str, other: str) -> None:
    dids = {"dids": [world.person(other).did, ABSENT]}
    call(world, name, "describeDids", "DescribeDidsRequest", dids)


@when(parsers.parse("{name:w} describes shop.example"))
def describes_no_did(world: World, name: str) -> None:
    call(world, name, "describeDids", "DescribeDidsRequest", {"dids": ["shop.example"]})


@then(parsers.parse('{name:w} claims the name "{claim}", and the other DID has none'))
def has_claim(world: World, name: str, claim: str) -> None:
    first = {"did": world.person(name).did, "domain": None, "claim": claim}
    assert body_of(world.answer) == {"items": [first, {"did": ABSENT, "domain": None, "claim": None}]}
