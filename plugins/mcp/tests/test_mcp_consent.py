"""A stock client whose agent has no token of the holder's: she is asked on her page, by the client's user where the client shows pages, and
by a link in the result where it does not. She answers here as her browser does, by plain HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from mcp import Client
from mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from tests.attack.delegated.scene import People, Scene
from tests.attack.page_requests import FORM, OWN, begin, cookie_of
from tests.attack.stranger import Answer, Holder
from tests.mcp_client import call_tool, token_of, with_client, with_command

VERIFIER = "https://shop.example"


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with People.served(IDENTITY_MCP_ENABLED="true") as found:
        yield found


@pytest.fixture
def scene(people: People) -> Scene:
    return Scene.create(people)


def wish(scene: Scene, **change: Any) -> dict[str, Any]:
    """Return the request of an agent without a credential id and without a token."""
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    return {"holderDid": scene.holder.did, "predicate": predicate, "domain": VERIFIER, "purpose": "wine"} | change


def asked_by(url: str) -> dict[str, Any]:
    """The request that a link holds."""
    page, _, text = url.partition("#")
    assert page.endswith("/ui/consent")
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def say(holder: Holder, reply: str, answer: Any, cookie: str | None = None, **headers: str) -> Answer:
    """Return the request of the page."""
    form = urlencode({"reply": reply, "answer": json.dumps(answer)}).encode()
    sent = {"Cookie": cookie_of(begin(holder)) if cookie is None else cookie}
    return holder.wire.call("POST", "/ui/consent/reply", form, sent | OWN | FORM | headers)


def approval(scene: Scene, **change: Any) -> dict[str, Any]:
    return {"credentialId": scene.credential_id, "ibct": scene.token(action="zkp.prove.age.gte.18", **change)}


def approve(scene: Scene, url: str) -> None:
    answer = say(scene.holder, asked_by(url)["reply"], approval(scene))
    assert answer.status == 204, answer.body


def test_client_with_pages_gets_proof_after_consent(scene: Scene) -> None:
    shown: list[str] = []

    async def show(context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        shown.append(params.url)
        await asyncio.to_thread(approve, scene, params.url)
        return ElicitResult(action="accept")

    async def talk(client: Client) -> None:
        made = await client.call_tool("request_proof", wish(scene))
        assert not made.is_error, made.content
        assert made.structured_content["status"] == "proved"
        verified = await client.call_tool("verify_proof", {"proofId": made.structured_content["proofId"]})
        assert verified.structured_content["verified"] is True

    with_client(scene.agent, talk, elicitation_callback=show)
    (url,) = shown
    # What a stranger sees of the link says nothing of the holder.
    assert scene.holder.did not in url + json.dumps(asked_by(url))
    assert {name: asked_by(url)[name] for name in ("agentDid", "domain", "purpose")} == {
        "agentDid": scene.agent.did,
        "domain": VERIFIER,
        "purpose": "wine",
    }


def test_client_with_pages_asks_holder_too(scene: Scene, tmp_path: Path) -> None:
    shown: list[str] = []

    async def show(context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        shown.append(params.url)
        await asyncio.to_thread(approve, scene, params.url)
        return ElicitResult(action="accept")

    async def talk(client: Client) -> None:
        made = await client.call_tool("request_proof", wish(scene) | {"includeProof": True})
        assert not made.is_error, made.content
        found = made.structured_content
        kept = await client.call_tool("get_proof", {"proofId": found["proofId"]})
        assert (found["status"], found["proof"]) == ("proved", kept.structured_content["proof"])
        assert str(made.content[1].uri) == found["proofUri"]

    with_command(scene.agent, tmp_path, talk, elicitation_callback=show)
    assert len(shown) == 1


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.nightly)])
def test_beside_the_agent_a_client_without_pages_gets_the_link(scene: Scene, tmp_path: Path, mode: str) -> None:
    async def talk(client: Client) -> None:
        async def asks(**more: Any) -> Any:
            return await client.call_tool("request_proof", wish(scene) | more)

        asked = (await asks()).structured_content
        assert asked["status"] == "consent_required"
        beyond = {"attributeName": "age", "type": "gte", "value": 2**60}
        told = await asks(consentId=asked["consentId"], predicate=beyond)
        assert (told.is_error, told.content[0].text.partition(":")[0]) == (True, "INVALID_REQUEST")
        assert (await asks(consentId=asked["consentId"])).structured_content["status"] == "waiting"
        told = await asks(consentId=asked["consentId"], domain="https://mallory.example")
        assert (told.is_error, told.content[0].text.partition(":")[0]) == (True, "INVALID_REQUEST")
        await asyncio.to_thread(say, scene.holder, asked["consentId"], None)
        assert (await asks(consentId=asked["consentId"])).structured_content == {"status": "declined"}

    with_command(scene.agent, tmp_path, talk, mode=mode)


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.nightly)])
def test_a_client_without_pages_gets_a_link_and_calls_again(scene: Scene, mode: str) -> None:
    async def talk(client: Client) -> None:
        async def asks(**more: str) -> dict[str, Any]:
            found = await client.call_tool("request_proof", wish(scene) | more)
            assert not found.is_error, found.content
            told: dict[str, Any] = found.structured_content
            return told

        asked = await asks()
        assert asked["status"] == "consent_required"
        again = await asks(consentId=asked["consentId"])
        assert (again["status"], again["consentUrl"]) == ("waiting", asked["consentUrl"])
        await asyncio.to_thread(approve, scene, asked["consentUrl"])
        made = await asks(consentId=asked["consentId"])
        assert made["status"] == "proved"
        # The token works once; the identical request gets the identical answer.
        assert (await asks(consentId=asked["consentId"]))["proofId"] == made["proofId"]

    with_client(scene.agent, talk, mode=mode)


def test_a_no_is_told_as_such(scene: Scene) -> None:
    token = token_of(scene.agent)
    asked = call_tool(scene.target.wire, token, "request_proof", wish(scene))["structuredContent"]
    assert say(scene.holder, asked["consentId"], None).status == 204
    told = call_tool(scene.target.wire, token, "request_proof", wish(scene, consentId=asked["consentId"]))
    assert told["structuredContent"] == {"status": "declined"}


def test_nobody_else_answers_and_nobody_else_fetches(scene: Scene) -> None:
    wire, mallory = scene.target.wire, scene.people.mallory
    asked = call_tool(wire, token_of(scene.agent), "request_proof", wish(scene))["structuredContent"]
    reply, mine = asked["consentId"], cookie_of(begin(scene.holder))
    good = approval(scene)
    assert say(mallory, reply, good).outcome == (400, "INVALID_REQUEST")
    assert say(mallory, reply, None).outcome == (400, "INVALID_REQUEST")
    assert say(scene.holder, reply, good, cookie="").outcome == (401, "AUTH_REQUIRED")
    assert say(scene.holder, reply, good, mine, **{"Sec-Fetch-Site": "cross-site"}).outcome == (403, "FORBIDDEN")
    assert say(scene.holder, reply[:-8] + reply[-8:].swapcase(), good, mine).outcome == (400, "INVALID_REQUEST")
    assert say(scene.holder, reply, approval(scene, target=mallory.did), mine).outcome == (400, "INVALID_REQUEST")
    assert say(scene.holder, reply, good, mine).status == 204
    assert say(scene.holder, reply, None, mine).outcome == (400, "INVALID_REQUEST")
    # Another agent with the same words, and the same agent with others.
    told = call_tool(wire, token_of(mallory), "request_proof", wish(scene, consentId=reply))
    assert told["content"][0]["text"].startswith("INVALID_REQUEST")
    other = wish(scene, consentId=reply, domain="https://mallory.example")
    told = call_tool(wire, token_of(scene.agent), "request_proof", other)
    assert told["content"][0]["text"].startswith("INVALID_REQUEST")
    assert "ibct" not in json.dumps(told)


def test_request_hidden_by_the_page_is_not_made(scene: Scene) -> None:
    token = token_of(scene.agent)
    for change in (
        {"purpose": "a\u202eb"},
        {"domain": "x" * 300},
        {"predicate": {"attributeName": "age", "type": "gte"}},
        {"predicate": {"attributeName": "a\nb", "type": "gte", "value": 1}},
    ):
        told = call_tool(scene.target.wire, token, "request_proof", wish(scene, **change))
        assert (told["isError"], told["content"][0]["text"].partition(":")[0]) == (True, "INVALID_REQUEST"), change


def test_the_page_shows_nobody_a_request_to_somebody_else(scene: Scene) -> None:
    asked = call_tool(scene.target.wire, token_of(scene.agent), "request_proof", wish(scene))["structuredContent"]
    shown = asked_by(asked["consentUrl"])

    def read(holder: Holder, request: Any) -> Answer:
        form = urlencode({"request": json.dumps(request)}).encode()
        sent = {"Cookie": cookie_of(begin(holder))} | OWN | FORM
        return holder.wire.call("POST", "/ui/consent", form, sent)

    assert b'data-reply="' + shown["reply"].encode() in read(scene.holder, shown).body
    for holder, request in (
        (scene.people.mallory, shown),
        (scene.holder, shown | {"agentDid": scene.people.mallory.did}),
        (scene.holder, shown | {"reply": shown["reply"][:-8] + shown["reply"][-8:].swapcase()}),
    ):
        answer = read(holder, request)
        assert answer.status == 422
        assert b"data-reply" not in answer.body
