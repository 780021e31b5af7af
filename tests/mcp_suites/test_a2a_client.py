"""The Agent2Agent protocol's own client (a2a-sdk) at /a2a: it reads the card, believes its signature, signs in as the card says, and gets a
proof; the holder is asked where it brings none of her tokens. Run by ``tox -e mcp``, which installs the client."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import jwt
import pytest

from tests.attack.delegated.scene import People, Scene
from tests.attack.page_requests import FORM, OWN, begin, cookie_of
from tests.attack.stranger import PREFIX
from tests.mcp_client import token_of

pytest.importorskip("a2a", reason="tox -e mcp installs the client")

from a2a.client import A2ACardResolver, AuthInterceptor, ClientConfig, ClientFactory, InMemoryContextCredentialStore
from a2a.client.client import ClientCallContext
from a2a.types import AgentCard, GetTaskRequest, Message, Part, Role, SendMessageRequest, Task, TaskState
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from google.protobuf.json_format import MessageToDict, ParseDict

VERIFIER = "https://shop.example"


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with People.served(IDENTITY_A2A_ENABLED="true") as found:
        yield found


def request_of(data: dict[str, Any]) -> SendMessageRequest:
    part = ParseDict({"data": data}, Part())
    return SendMessageRequest(message=Message(message_id="m1", role=Role.ROLE_USER, parts=[part]))


def approve(scene: Scene, url: str) -> None:
    """What the holder's page sends when she approves."""
    text = url.partition("#")[2]
    reply = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))["reply"]
    said = {"credentialId": scene.credential_id, "ibct": scene.token(action="zkp.prove.age.gte.18")}
    form = urlencode({"reply": reply, "answer": json.dumps(said)}).encode()
    headers = {"Cookie": cookie_of(begin(scene.holder))} | OWN | FORM
    assert scene.target.wire.call("POST", "/ui/consent/reply", form, headers).status == 204


def believed(card: AgentCard, url: str) -> None:
    """Raises unless a key of the service's own set signed the card."""

    def key(kid: str | None, jku: str | None) -> Any:
        assert jku == f"{url}/.well-known/jwks.json"
        return jwt.PyJWKClient(jku).get_signing_key(kid).key

    create_signature_verifier(key, ["EdDSA"])(card)


def test_a_stock_client_believes_the_card_and_gets_proofs(people: People) -> None:
    scene = Scene.create(people)
    url = people.target.wire.url

    async def run() -> None:
        async with httpx.AsyncClient(timeout=60) as http:
            card = await A2ACardResolver(http, url).get_agent_card()
            believed(card, url)
            changed = AgentCard()
            changed.CopyFrom(card)
            changed.supported_interfaces[0].url = "https://evil.example/a2a"
            with pytest.raises(InvalidSignaturesError):
                believed(changed, url)

            credentials = InMemoryContextCredentialStore()
            (scheme,) = card.security_schemes
            token = token_of(scene.agent, scope="zkp:prove zkp:verify", resource="/a2a")
            await credentials.set_credentials("s", scheme, token)
            context = ClientCallContext(state={"sessionId": "s"})
            config = ClientConfig(httpx_client=http, streaming=False)
            client = ClientFactory(config).create(card, interceptors=[AuthInterceptor(credentials)])

            async def sent(data: dict[str, Any]) -> Task:
                (found,) = [one async for one in client.send_message(request_of(data), context=context)]
                task: Task = found.task
                return task

            given = {name: value for name, value in scene.body().items() if name != "agentDid"}
            made = await sent(given)
            assert made.status.state == TaskState.TASK_STATE_COMPLETED, made
            proof = MessageToDict(made.artifacts[0].parts[0].data)
            headers = {"Authorization": f"Bearer {scene.people.bearer(people.mallory)}"}
            expected = {"predicate": given["predicate"]}
            verdict = people.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof | expected, headers)
            assert verdict.json["verified"] is True, verdict.body

            predicate = {"attributeName": "age", "type": "gte", "value": 18}
            wish = {"holderDid": scene.holder.did, "predicate": predicate, "domain": VERIFIER, "purpose": "wine"}
            asked = await sent(wish)
            assert asked.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
            await asyncio.to_thread(approve, scene, asked.status.message.parts[1].url)
            for one in (asked, made):
                done = await client.get_task(GetTaskRequest(id=one.id), context=context)
                assert (done.id, done.status.state) == (one.id, TaskState.TASK_STATE_COMPLETED)
            with pytest.raises(TaskNotFoundError):
                await client.get_task(GetTaskRequest(id="another"), context=context)

    asyncio.run(run())
