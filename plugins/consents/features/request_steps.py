"""Agents and verifiers ask, holders answer."""

from __future__ import annotations

from typing import Any

from pytest_bdd import given, parsers, then, when

from features.delegating import remember
from features.document import Operation
from features.proving import story
from features.signing import call
from features.steps.answers import body_of
from features.verifying import AGE, SHOP
from features.world import DRAFTS, Draft, World

UNKNOWN = "0" * 64


def _consent_body(world: World, holder: str = "") -> dict[str, Any]:
    return {
        "holderDid": holder or world.person("Hana").did,
        "predicates": [AGE],
        "domain": SHOP,
        "purpose": "To buy wine",
    }


def _create_consent_request(world: World, name: str = "Aki", holder: str = "") -> Any:
    answer = call(world, name, "createConsentRequest", "CreateConsentRequestRequest", _consent_body(world, holder))
    if answer.status_code == 201:
        world.notes["consent"] = body_of(answer)
    return answer


def _question(value: int = 18) -> dict[str, Any]:
    return {
        "domain": SHOP,
        "predicates": [AGE | {"value": value}],
        "purpose": "To sell wine",
        "reference": "order 4711",
    }


def _ask_for_proof(world: World, question: dict[str, Any], **how: Any) -> Any:
    if how:
        answer = world.call("createVerifierRequest", body=world.model("CreateVerifierRequestRequest", question), **how)
    else:
        answer = call(world, "Vic", "createVerifierRequest", "CreateVerifierRequestRequest", question)
    if answer.status_code == 201:
        world.notes["request"] = body_of(answer)
    return answer


def _approval(world: World) -> dict[str, Any]:
    return {"credentialId": story(world).credential_id, "ibct": story(world).signed_token()}


def _answered(world: World, name: str, body: dict[str, Any]) -> Any:
    made = ("answerConsentRequest", "AnswerConsentRequestRequest", body)
    return call(world, name, *made, consent_id=world.notes["consent"]["id"])


def _proof_for_request(world: World, age: int) -> str:
    """Return a proof over the challenge of the request for a proof."""
    asked, proving = world.notes["request"], story(world)
    proving.predicate = AGE | {"value": age}
    proving.body = {"challenge": asked["challenge"], "domain": asked["domain"]}
    made = proving.ask()
    assert made.status_code == 201, made.content
    return str(body_of(made)["proof"]["proof"])


# Good requests


def _drafted_consent(world: World, operation: Operation) -> Draft:
    """Aki asks, and Hana reads and answers."""
    story(world)
    hana, aki = world.person("Hana"), world.person("Aki")
    if "{consentId}" in operation.path:
        assert _create_consent_request(world).status_code == 201, world.answer.content
    draft = Draft(operation, operation.path.replace("{consentId}", world.notes.get("consent", {}).get("id", "")))
    bodies = {"createConsentRequest": _consent_body, "answerConsentRequest": lambda world: {"declined": True}}
    if operation.operation_id in bodies:
        draft.body = bodies[operation.operation_id](world)
    signer = aki if operation.operation_id == "createConsentRequest" else hana
    draft.headers = world.signed(signer, operation.operation_id, draft.body)
    return draft


def _drafted_request(world: World, operation: Operation) -> Draft:
    """An operator asks."""
    if "{requestId}" in operation.path:
        assert _ask_for_proof(world, _question(), headers=world.key_header()).status_code == 201, world.answer.content
    draft = Draft(operation, operation.path.replace("{requestId}", world.notes.get("request", {}).get("id", "")))
    if operation.operation_id == "createVerifierRequest":
        draft.body = _question()
    if operation.operation_id == "answerVerifierRequest":
        draft.body = {"proof": _proof_for_request(world, 18)}
    draft.headers = world.key_header() if operation.schemes else {}
    return draft


CONSENTS = ("createConsentRequest", "listConsentRequests", "getConsentRequest", "answerConsentRequest")
REQUESTS = (
    *("createVerifierRequest", "listVerifierRequests", "getVerifierRequest", "cancelVerifierRequest"),
    "answerVerifierRequest",
)
DRAFTS |= dict.fromkeys(CONSENTS, _drafted_consent) | dict.fromkeys(REQUESTS, _drafted_request)


# Given


@given("Hana has given Aki a delegation")
def has_given(world: World) -> None:
    remember(world, "Hana", "Aki")


@given(parsers.parse("Vic asks for a proof that the holder is {age:d}"))
def asks_for_proof(world: World, age: int) -> None:
    _ask_for_proof(world, _question(age) | {"issuerDid": _issuer(world)})


def _issuer(world: World) -> str:
    story(world)
    return world.people["Ivo"].did


@given(parsers.parse("a shop with an API key asks for a proof that the holder is {age:d}"))
def shop_asks(world: World, age: int) -> None:
    wish = world.model("CreateApiKeyRequest", {"name": "shop", "scopes": ["zkp:verify"], "allowedTargets": None})
    made = world.call("createApiKey", headers=world.key_header(), body=wish).parsed
    world.notes["shop"] = made.record.id
    _ask_for_proof(world, _question(age), headers={"X-API-Key": made.api_key})


@given("the API key of the shop is revoked")
def is_revoked(world: World) -> None:
    answer = world.call("revokeApiKey", headers=world.key_header(), key_id=world.notes["shop"])
    assert answer.status_code in (200, 204), answer.content


@given("the API key of the shop may list DIDs only")
def is_narrowed(world: World) -> None:
    wish = world.model("UpdateApiKeyRequest", {"scopes": ["dids:list"]})
    answer = world.call("updateApiKey", headers=world.key_header(), key_id=world.notes["shop"], body=wish)
    assert answer.status_code == 200, answer.content


# When


@when(parsers.parse("{name:w} asks Hana for her consent"))
def asks(world: World, name: str) -> None:
    _create_consent_request(world, name)


@when(parsers.parse("Aki asks Hana for her consent {count:d} times"))
def asks_often(world: World, count: int) -> None:
    for _ in range(count):
        assert _create_consent_request(world).status_code == 201, world.answer.content


@when("Aki asks shop.example for a consent")
def asks_none(world: World) -> None:
    _create_consent_request(world, holder="shop.example")


@when("Hana reads the requests to her")
def reads_list(world: World) -> None:
    call(world, "Hana", "listConsentRequests")


@when("Hana reads the requests to her with the status waiting")
def reads_waiting(world: World) -> None:
    world.answer = world.http().get(
        "/api/v1/consents",
        params={"status": "waiting"},
        headers=world.signed(world.person("Hana"), "listConsentRequests", None),
    )


@when("Hana approves the request")
def approves(world: World) -> None:
    _answered(world, "Hana", _approval(world))


@when("Hana approves the request with a broken token")
def approves_badly(world: World) -> None:
    approval = _approval(world)
    _answered(world, "Hana", approval | {"ibct": approval["ibct"] | {"nonce": "short"}})


@when(parsers.parse("{name:w} declines the request"))
def declines(world: World, name: str) -> None:
    _answered(world, name, {"declined": True})


@when(parsers.parse("{name:w} reads the request"))
def reads_one(world: World, name: str) -> None:
    call(world, name, "getConsentRequest", consent_id=world.notes["consent"]["id"])


def _made_and_sent(world: World, age: int) -> None:
    world.notes["proof"] = _proof_for_request(world, age)
    handed_in(world)


@when("the proof is made for the request and handed in")
def is_made(world: World) -> None:
    _made_and_sent(world, 18)


@when("the proof is made for 18 and handed in")
def is_made_of_another(world: World) -> None:
    _made_and_sent(world, 18)


@when("the proof is handed in again")
def handed_in(world: World) -> None:
    body = world.model("AnswerVerifierRequestRequest", {"proof": world.notes["proof"]})
    world.call("answerVerifierRequest", body=body, request_id=world.notes["request"]["id"])


@when("a text is handed in as the proof")
def handed_in_text(world: World) -> None:
    world.notes["proof"] = "AAAA"
    handed_in(world)


@when(parsers.parse("{name:w} reads the request for a proof"))
def reads_request(world: World, name: str) -> None:
    if name == "anyone":
        world.call("getVerifierRequest", request_id=world.notes["request"]["id"])
    else:
        call(world, name, "getVerifierRequest", request_id=world.notes["request"]["id"])


@when(parsers.parse("{name:w} cancels the request for a proof"))
def cancels(world: World, name: str) -> None:
    call(world, name, "cancelVerifierRequest", request_id=world.notes["request"]["id"])


@when(parsers.parse("Vic lists the requests for proofs"))
def lists(world: World) -> None:
    call(world, "Vic", "listVerifierRequests")


@when(parsers.parse("Mallory sends {operation:w} for a request that does not exist"))
def reads_unknown(world: World, operation: str) -> None:
    if operation == "getConsentRequest":
        call(world, "Mallory", operation, consent_id=UNKNOWN)
    else:
        call(world, "Mallory", operation, request_id=UNKNOWN)


# Then


@then(parsers.re(r"the request is (?P<status>waiting|approved|declined|answered)"))
def has_status(world: World, status: str) -> None:
    assert body_of(world.answer)["status"] == status


@then("she finds the request of Aki")
def finds(world: World) -> None:
    (one,) = body_of(world.answer)["items"]
    assert one == world.notes["consent"]
    assert (one["agentDid"], one["predicates"], one["domain"]) == (world.person("Aki").did, [AGE], SHOP)


@then("Aki has the approval")
def has_approval(world: World) -> None:
    approval = body_of(world.answer)["approval"]
    assert approval["credentialId"] == story(world).credential_id
    assert approval["ibct"]["target"] == world.person("Aki").did


@then("there are no requests")
def has_none(world: World) -> None:
    assert body_of(world.answer) == {"items": []}


@then(parsers.parse("the result has the verdict {verdict:w}"))
def has_verdict(world: World, verdict: str) -> None:
    assert body_of(world.answer)["verdict"] == verdict


@then("Vic finds the result")
def finds_result(world: World) -> None:
    found = body_of(world.answer)
    assert (found["result"]["verdict"], found["reference"]) == ("valid", "order 4711")


@then("the result and the reference are hidden")
def hides(world: World) -> None:
    found = body_of(world.answer)
    assert (found["result"], found["reference"], found["status"]) == (None, None, "answered")
    assert found["challenge"] == world.notes["request"]["challenge"]


@then("Vic finds the request")
def finds_request(world: World) -> None:
    assert body_of(world.answer) == {"items": [world.notes["request"]]}
