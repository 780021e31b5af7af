"""Tasks at /a2a by raw bytes: the public card, the answers to an agent, and requests of other clients."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from rfc8785 import dumps as jcs

from tests.attack.delegated.scene import People, Scene
from tests.attack.page_requests import FORM, OWN, begin, cookie_of
from tests.attack.stranger import PREFIX, Answer
from tests.mcp_client import bearer, token_of

VERIFIER = "https://shop.example"
CARD = "/.well-known/agent-card.json"


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with People.served(IDENTITY_A2A_ENABLED="true") as found:
        yield found


@pytest.fixture
def scene(people: People) -> Scene:
    return Scene.create(people)


def post(scene: Scene, body: Any, agent: Any = None, **headers: str) -> Answer:
    token = token_of(agent or scene.agent, scope="zkp:prove zkp:verify", resource="/a2a")
    return scene.target.wire.call("POST", "/a2a", body, bearer(token) | {"A2A-Version": "1.0"} | headers)


def rpc(scene: Scene, method: str, agent: Any = None, **params: Any) -> Any:
    answer = post(scene, {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, agent)
    assert (answer.status, answer.json["id"], answer.json["jsonrpc"]) == (200, 7, "2.0"), answer.body
    return answer.json


def message(data: Any, **more: Any) -> dict[str, Any]:
    return {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": data}]} | more


def send(scene: Scene, data: Any, agent: Any = None, **more: Any) -> Any:
    found = rpc(scene, "SendMessage", agent, message=message(data, **more))
    return found["result"]["task"] if "result" in found else found["error"]["code"]


def wish(scene: Scene, **change: Any) -> dict[str, Any]:
    predicate = {"attributeName": "age", "type": "gte", "value": 18}
    return {"holderDid": scene.holder.did, "predicate": predicate, "domain": VERIFIER, "purpose": "wine"} | change


def arguments(scene: Scene, **change: Any) -> dict[str, Any]:
    body = scene.body(**change)
    del body["agentDid"]
    return body


def state(task: Any) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def say(scene: Scene, task: Any, answer: Any) -> None:
    url = task["status"]["message"]["parts"][1]["url"]
    reply = json.loads(decoded(url.partition("#")[2]))["reply"]
    form = urlencode({"reply": reply, "answer": json.dumps(answer)}).encode()
    sent = {"Cookie": cookie_of(begin(scene.holder))} | OWN | FORM
    assert scene.target.wire.call("POST", "/ui/consent/reply", form, sent).status == 204


def approval(scene: Scene) -> dict[str, Any]:
    return {"credentialId": scene.credential_id, "ibct": scene.token(action="zkp.prove.age.gte.18")}


def test_card_signature_covers_every_byte(people: People) -> None:
    wire = people.target.wire
    answer = wire.call("GET", CARD, None, {})
    assert answer.status == 200
    card = answer.json
    (signature,) = card.pop("signatures")
    head = json.loads(decoded(signature["protected"]))
    assert head == {"alg": "EdDSA", "typ": "JOSE", "kid": head["kid"], "jku": f"{wire.url}/.well-known/jwks.json"}
    (key,) = [
        one for one in wire.call("GET", "/.well-known/jwks.json", None, {}).json["keys"] if one["kid"] == head["kid"]
    ]

    def verify(value: Any) -> None:
        payload = base64.urlsafe_b64encode(jcs(value)).rstrip(b"=")
        data = signature["protected"].encode() + b"." + payload
        VerifyKey(decoded(key["x"])).verify(data, decoded(signature["signature"]))

    verify(card)
    with pytest.raises(BadSignatureError):
        verify(card | {"name": "Another"})

    def members(value: Any) -> Iterator[Any]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for one in inner:
            yield one
            yield from members(one)

    # A default that some readers drop and others keep would make two payloads of one card.
    assert not [one for one in members(card) if one in ("", 0, False, [], {}, None)]
    (interface,) = card["supportedInterfaces"]
    assert interface == {"url": f"{wire.url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    (extension,) = card["capabilities"]["extensions"]
    schema = wire.call("GET", extension["uri"].removeprefix(wire.url), None, {}).json
    assert schema["$id"] == extension["uri"]
    kept = wire.call("GET", CARD, None, {"If-None-Match": answer.headers["etag"]})
    assert (kept.status, kept.body) == (304, b"")


def test_task_with_token_ends_with_valid_proof(scene: Scene) -> None:
    vera = scene.people.mallory
    challenge = scene.act(vera, "POST", "/challenges", "read", {"domain": VERIFIER}).json["challenge"]
    request = arguments(scene, challenge=challenge, domain=VERIFIER)
    task = send(scene, request, contextId="order-4711")
    assert (state(task), task["contextId"]) == ("COMPLETED", "order-4711")
    (artifact,) = task["artifacts"]
    proof = artifact["parts"][0]["data"]
    expected = {"challenge": challenge, "domain": VERIFIER, "predicate": request["predicate"]}
    headers = {"Authorization": f"Bearer {scene.people.bearer(vera)}"}
    verdict = scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proof | expected, headers)
    assert (verdict.status, verdict.json["verified"]) == (200, True), verdict.body
    again = rpc(scene, "GetTask", id=task["id"])["result"]
    assert (again["id"], again["contextId"], state(again)) == (task["id"], "order-4711", "COMPLETED")
    assert again["artifacts"][0]["parts"][0]["data"] == proof
    # It has ended: no message continues it, and nothing cancels it.
    assert send(scene, request, taskId=task["id"]) == -32004
    assert rpc(scene, "CancelTask", id=task["id"])["error"]["code"] == -32002


def test_task_without_token_asks_holder(scene: Scene) -> None:
    task = send(scene, wish(scene))
    assert (state(task), task["status"]["message"]["role"]) == ("AUTH_REQUIRED", "ROLE_AGENT")
    assert scene.holder.did not in json.dumps(task)
    assert state(rpc(scene, "GetTask", id=task["id"])["result"]) == "AUTH_REQUIRED"
    say(scene, task, approval(scene))
    made = rpc(scene, "GetTask", id=task["id"])["result"]
    assert (made["id"], made["contextId"], state(made)) == (task["id"], task["contextId"], "COMPLETED")
    # The token works once; a message to the same task gets the identical answer.
    again = send(scene, wish(scene), taskId=task["id"])
    assert again["artifacts"] == made["artifacts"]


def test_a_no_and_a_refusal_are_ends_of_the_task(scene: Scene) -> None:
    task = send(scene, wish(scene))
    say(scene, task, None)
    told = rpc(scene, "GetTask", id=task["id"])["result"]
    assert state(told) == "REJECTED"
    assert told["status"]["message"]["parts"][0]["text"].startswith("CONSENT_DECLINED")
    refused = send(scene, arguments(scene, value=90))
    words = refused["status"]["message"]["parts"][0]["text"]
    assert (state(refused), words.partition(":")[0]) == ("REJECTED", "PREDICATE_NOT_SATISFIED")
    assert "remedy: " in words
    assert "37" not in words
    assert rpc(scene, "GetTask", id=refused["id"])["result"]["status"]["message"]["parts"][0]["text"] == words


def test_a_task_is_its_agents_alone(scene: Scene) -> None:
    mallory = scene.people.mallory
    waiting, done = send(scene, wish(scene)), send(scene, arguments(scene))
    changed = done["id"][:-2] + ("AA" if done["id"][-2:] != "AA" else "BB")
    for task in (waiting["id"], done["id"]):
        assert rpc(scene, "GetTask", mallory, id=task)["error"]["code"] == -32001
        assert rpc(scene, "CancelTask", mallory, id=task)["error"]["code"] == -32001
        assert send(scene, wish(scene), mallory, taskId=task) == -32001
    for other in (changed, "", "x" * 20_000, 7, None, ["a"], done["id"] + "=", "\u00e9"):
        assert rpc(scene, "GetTask", id=other)["error"]["code"] == -32001
    # The holder's token is for the agent that she named.
    assert state(send(scene, arguments(scene), mallory)) == "REJECTED"


WRONG: dict[str, tuple[Any, int]] = {
    "no JSON": (b"{", -32700),
    "a name twice": (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"x"}', -32700),
    "deeper than anything": (b"[" * 100_000, -32700),
    "a batch": ([{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}], -32600),
    "a notice": ({"jsonrpc": "2.0", "method": "GetTask", "params": {}}, -32600),
    "an identifier that is none": ({"jsonrpc": "2.0", "id": {}, "method": "GetTask", "params": {}}, -32600),
    "no version": ({"id": 1, "method": "GetTask", "params": {}}, -32600),
    "another method": ({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}, -32601),
    "a method that is none": ({"jsonrpc": "2.0", "id": 1, "method": ["GetTask"], "params": {}}, -32600),
    "params that are none": ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": [1]}, -32602),
    "a stream": ({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {}}, -32004),
    "a list": ({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}, -32004),
    "a push": ({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig", "params": {}}, -32003),
}


@pytest.mark.parametrize("name", WRONG)
def test_calls_that_are_none_of_ours(scene: Scene, name: str) -> None:
    body, code = WRONG[name]
    answer = post(scene, body)
    assert (answer.status, answer.json["error"]["code"]) == (200, code), answer.body


def test_messages_that_ask_for_nothing_that_there_is(scene: Scene) -> None:
    good = wish(scene)
    for parts, code in (
        ([{"text": "prove that she is 18"}], -32005),
        ([{"data": good}, {"text": "and more"}], -32005),
        ([{"data": [good]}], -32005),
        ([], -32602),
        ("data", -32602),
        ([{"data": good | {"agentDid": scene.agent.did}}], -32602),
        ([{"data": good | {"consentId": "x"}}], -32602),
        ([{"data": good | {"holderDid": 7}}], -32602),
        ([{"data": good | {"holderDid": "no DID"}}], -32602),
        ([{"data": good | {"domain": "x" * 5_000}}], -32602),
        ([{"data": {"holderDid": scene.holder.did}}], -32602),
        ([{"data": good | {"predicate": {"attributeName": "a\nb", "type": "gte", "value": 1}}}], -32602),
        ([{"data": arguments(scene) | {"predicate": "age"}}], -32602),
    ):
        found = rpc(scene, "SendMessage", message={"messageId": "m", "role": "ROLE_USER", "parts": parts})
        assert found["error"]["code"] == code, (parts, found)
    information = rpc(scene, "SendMessage", message=message(arguments(scene) | {"predicate": "age"}))["error"]["data"][
        0
    ]
    assert information["reason"] == "INVALID_REQUEST"
    assert "remedy" in information["metadata"]
    assert send(scene, good, role="ROLE_AGENT") == -32602
    assert send(scene, good, contextId="x" * 200) == -32602
    pushing = {"taskPushNotificationConfig": {"url": "http://127.0.0.1/"}}
    found = rpc(scene, "SendMessage", message=message(good), configuration=pushing)
    assert found["error"]["code"] == -32003


@pytest.mark.parametrize("version", ["", "0.3", "2.0", "1", "1.0.x.y", "one"])
def test_other_versions_are_told_so(scene: Scene, version: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}
    found = post(scene, call, **{"A2A-Version": version}).json["error"]["code"]
    assert found == (-32001 if version == "1.0.x.y" else -32009)


def test_nobody_gets_in_but_by_a_token_for_this_place(scene: Scene) -> None:
    wire = scene.target.wire
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}
    for headers in ({}, {"X-API-Key": scene.target.stranger.api_key}, bearer(token_of(scene.agent, resource=""))):
        answer = wire.call("POST", "/a2a", call, headers | {"A2A-Version": "1.0"})
        assert answer.status == 401
        assert f"{wire.url}/.well-known/oauth-protected-resource/a2a" in answer.headers["www-authenticate"]
        assert 'scope="delegations:read zkp:prove zkp:verify"' in answer.headers["www-authenticate"]
    token = bearer(token_of(scene.agent, resource="/a2a"))
    assert wire.call("GET", f"{PREFIX}/delegations", None, token).status == 401
    assert post(scene, call, Origin="https://evil.example").status == 403
    short = bearer(token_of(scene.agent, scope="zkp:verify", resource="/a2a"))
    for data in (wish(scene), arguments(scene)):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message(data)}}
        answer = wire.call("POST", "/a2a", body, short | {"A2A-Version": "1.0"})
        assert answer.status == 403
        assert "insufficient_scope" in answer.headers["www-authenticate"]
    assert wire.call("GET", "/a2a", None, token).status == 405
    assert wire.call("POST", "/a2a", b"x" * 300_000, token).status == 413


def test_several_predicates_are_a_presentation(scene: Scene) -> None:
    """Without ``predicate`` a message asks for a presentation, by the holder's token or on her page."""
    several = [
        {"attributeName": "age", "type": "gte", "value": 18},
        {"attributeName": "age", "type": "lt", "value": 100},
    ]
    action = "zkp.prove.age.gte.18 zkp.prove.age.lt.100"
    body = arguments(scene, ibct=scene.token(action=action), predicates=several)
    del body["predicate"]
    task = send(scene, body)
    assert state(task) == "COMPLETED", task
    assert task["artifacts"][0]["parts"][0]["data"]["predicateType"] == "gte,lt"
    unsigned = wish(scene, predicates=several)
    del unsigned["predicate"]
    assert state(send(scene, unsigned)) == "AUTH_REQUIRED"


def test_numbers_are_read_as_by_every_operation(scene: Scene) -> None:
    """18.0 is 18; what no reader holds exactly is refused as wrong parameters (JSON-RPC 2.0 §5.1, -32602), not a fault of the service."""
    exact = {"attributeName": "age", "type": "gte", "value": 18.0}
    assert state(send(scene, arguments(scene, predicate=exact))) == "COMPLETED"
    for number in (1e300, -1e300, 0.1 + 0.2):
        predicate = exact | {"value": number}
        assert send(scene, arguments(scene, predicate=predicate)) == -32602
        assert send(scene, wish(scene, predicate=predicate)) == -32602
    assert send(scene, arguments(scene, holderDid=1e300)) == -32602
