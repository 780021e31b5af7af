"""A stock MCP client over HTTP: it finds the token endpoint by the challenge, signs in as an agent, and gets a proof that a verifier
accepts. And what a stranger tries at the same place, by raw bytes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from identity_mcp.tools import TOOLS
from mcp import Client
from nacl.signing import SigningKey

from plugins.oauth.tests.code_flow import approved, registers
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import PREFIX, multikey, rotation
from tests.mcp_client import REVISION, Headers, bearer, call, message, token_of, with_client, with_holder

VERIFIER = "https://shop.example"


@pytest.fixture(scope="module")
def people() -> Iterator[People]:
    with People.served(IDENTITY_MCP_ENABLED="true") as found:
        yield found


@pytest.fixture
def scene(people: People) -> Scene:
    return Scene.create(people)


async def call_tool(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


def build_request(scene: Scene, **change: Any) -> dict[str, Any]:
    body = scene.body(**change)
    del body["agentDid"]
    return body


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_stock_client_gets_valid_proof(scene: Scene, mode: str) -> None:
    vera = scene.people.mallory
    challenge = scene.act(vera, "POST", "/challenges", "read", {"domain": VERIFIER}).json["challenge"]
    request = build_request(scene, challenge=challenge, domain=VERIFIER)
    proofs: list[Any] = []

    async def talk(client: Client) -> None:
        assert [one.name for one in (await client.list_tools()).tools] == [*TOOLS]
        checked = await call_tool(client, "check_delegation", **request)
        assert (checked["usable"], checked["delegation"]["id"]) == (True, scene.delegation_id)
        listed = (await call_tool(client, "list_delegations", status="active"))["items"]
        assert scene.delegation_id in [one["id"] for one in listed]
        made = await client.call_tool("request_proof", request)
        assert not made.is_error, made.content
        assert "proof" not in made.structured_content
        link = made.content[1]
        assert (link.type, str(link.uri)) == ("resource_link", made.structured_content["proofUri"])
        proofs.append(json.loads((await client.read_resource(str(link.uri))).contents[0].text))
        checked = await call_tool(client, "verify_proof", proofId=made.structured_content["proofId"], expect={})
        assert checked["verified"] is True
        assert (await call_tool(client, "get_proof", proofId=made.structured_content["proofId"]))["proof"] == proofs[0]
        document = await call_tool(client, "resolve_did", did=scene.holder.did)
        assert document["didDocument"]["id"] == scene.holder.did
        assert (await call_tool(client, "create_challenge", domain=VERIFIER))["challenge"]

    token = with_client(scene.agent, talk, mode=mode)
    claims = jwt.decode(token.access_token, options={"verify_signature": False})
    assert (claims["sub"], claims["aud"]) == (scene.agent.did, f"{scene.agent.wire.url}/mcp")
    # The verifier is a stranger to all of this, and asks the service by plain HTTP.
    expected = {"challenge": challenge, "domain": VERIFIER, "predicate": request["predicate"]}
    headers = {"Authorization": f"Bearer {scene.people.bearer(vera)}"}
    verdict = scene.target.wire.call("POST", f"{PREFIX}/zkp/proofs/verify", proofs[0] | expected, headers)
    assert (verdict.status, verdict.json["verified"]) == (200, True), verdict.body


def test_a_stock_client_lets_a_holder_sign_in(people: People) -> None:
    """By the code flow, for the tools alone: a client that holds no key, on the holder's own machine."""
    hana, app = people.target.stranger.holder(), people.target.stranger.holder()
    registers(app, "OAuthNativeRedirect", "http://127.0.0.1/callback")

    async def talk(client: Client) -> None:
        assert [one.name for one in (await client.list_tools()).tools] == [*TOOLS]
        assert (await call_tool(client, "list_delegations"))["items"] == []

    approves, redirect = functools.partial(approved, hana), "http://127.0.0.1:49152/callback"
    token = with_holder(app.did, hana.wire.url, redirect, approves, talk).access_token
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["sub"], claims["client_id"], claims["aud"]) == (hana.did, app.did, f"{hana.wire.url}/mcp")
    assert claims["scope"] == "delegations:read zkp:prove zkp:verify"
    assert hana.wire.call("GET", f"{PREFIX}/delegations", None, bearer(token)).outcome == (401, "AUTH_FAILED")


def test_refusal_is_result_without_value(scene: Scene) -> None:
    async def refused(client: Client, name: str, **arguments: Any) -> str:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        return str(result.content[0].text)

    async def talk(client: Client) -> None:
        told = await refused(client, "request_proof", **build_request(scene, value=90))
        assert told.startswith("PREDICATE_NOT_SATISFIED")
        assert "37" not in told
        told = await refused(client, "request_proof", **build_request(scene), agentDid=scene.holder.did)
        assert told.startswith("INVALID_REQUEST")
        for bad in ("..", "../../admin/api-keys", "a/b", "a?b=c"):
            assert (await refused(client, "get_proof", proofId=bad)).startswith("PROOF_NOT_FOUND")
        assert (await refused(client, "resolve_did", did="hana")).startswith("INVALID_REQUEST")
        assert json.loads((await client.read_resource("identity://errors/IBCT_EXPIRED")).contents[0].text)["status"]

    with_client(scene.agent, talk)


def test_refusal_of_arguments_has_reason_and_remedy(scene: Scene) -> None:
    async def talk(client: Client) -> None:
        refused = await client.call_tool("request_proof", build_request(scene) | {"holderDid": 7})
        error = refused.structured_content["error"]
        assert error["code"] == "INVALID_REQUEST"
        assert (error["details"]["parameter"], "7" in error["details"]["reason"]) == ("holderDid", True)
        assert "inputSchema" in error["details"]["remedy"]

    with_client(scene.agent, talk)


def test_refusal_names_its_reason_and_leaves_the_token(people: People) -> None:
    """The delegation lists verifiers and the request names none: the model reads why, and asks again with the same IBCT."""
    scene = Scene.create(people, verifiers=[VERIFIER])
    request = build_request(scene)

    async def talk(client: Client) -> None:
        refused = await client.call_tool("request_proof", request)
        assert refused.is_error
        error = refused.structured_content["error"]
        assert (error["code"], error["details"]["reason"]) == (
            "SCOPE_MISMATCH",
            "the delegation does not allow this verifier",
        )
        told = refused.content[0].text
        assert told.startswith("SCOPE_MISMATCH: ")
        assert "reason: the delegation does not allow this verifier" in told
        made = await call_tool(client, "request_proof", **request, domain=VERIFIER)
        assert made["status"] == "proved"

    with_client(scene.agent, talk)
    assert scene.proofs() == 1


REFUSED: dict[str, Callable[[Scene], Headers]] = {
    "no token": lambda scene: {},
    "an API key": lambda scene: {"X-API-Key": scene.target.stranger.api_key},
    "an API key as a bearer token": lambda scene: bearer(scene.target.stranger.api_key),
    "a token for the issuer": lambda scene: bearer(token_of(scene.agent, resource="")),
    "a token for the interface": lambda scene: bearer(token_of(scene.agent, resource=PREFIX)),
    "a token of the JSON operation": lambda scene: bearer(scene.people.bearer(scene.agent)),
    "a signature": lambda scene: {"Authorization": scene.agent.signed("read", None)},
    "a token that was changed": lambda scene: bearer(token_of(scene.agent)[:-4] + "AAAA"),
    "a cookie": lambda scene: {"Cookie": f"identity-session={token_of(scene.agent)}"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_nobody_gets_in_but_by_a_token_for_this_place(scene: Scene, name: str) -> None:
    headers = REFUSED[name](scene)
    answer = call(scene.target.wire, message(), headers)
    assert answer.outcome[0] == 401, answer.body
    metadata = f'resource_metadata="{scene.target.wire.url}/.well-known/oauth-protected-resource/mcp"'
    assert metadata in answer.headers["www-authenticate"]
    assert 'scope="delegations:read zkp:prove zkp:verify"' in answer.headers["www-authenticate"]
    # RFC 6750 §3: a bearer token that is no good is told apart from none.
    is_bearer = headers.get("Authorization", "").startswith("Bearer")
    assert ('error="invalid_token"' in answer.headers["www-authenticate"]) == is_bearer


def test_a_token_for_this_place_is_good_nowhere_else(scene: Scene) -> None:
    wire, headers = scene.target.wire, bearer(token_of(scene.agent))
    assert call(wire, message(), headers).status == 200
    assert wire.call("GET", f"{PREFIX}/delegations", None, headers).outcome == (401, "AUTH_FAILED")


def test_a_scope_that_is_missing_is_said_as_oauth_has_it(scene: Scene) -> None:
    headers = bearer(token_of(scene.agent, "zkp:verify"))
    listed = message("tools/call", name="list_delegations", arguments={})
    answer = call(scene.target.wire, listed, headers, name="list_delegations")
    assert answer.outcome == (403, "FORBIDDEN")
    assert 'error="insufficient_scope", scope="delegations:read"' in answer.headers["www-authenticate"]
    assert "oauth-protected-resource/mcp" in answer.headers["www-authenticate"]
    assert answer.headers["www-authenticate"].count("scope=") == 1


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_speaks_for_nobody(scene: Scene, origin: str) -> None:
    headers = bearer(token_of(scene.agent))
    assert call(scene.target.wire, message(), headers | {"Origin": origin}).outcome == (403, "FORBIDDEN")
    assert call(scene.target.wire, message(), headers | {"Origin": scene.target.wire.url}).status == 200


def test_a_name_that_was_led_here_opens_nothing(scene: Scene) -> None:
    """DNS rebinding: evil.example is now the address of the service, so that a browser takes its page for one of the same origin."""
    port = scene.target.wire.url.rpartition(":")[2]
    led = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}
    # What a browser would send of itself is not a token, and one that leaked is no use to a page.
    assert call(scene.target.wire, message(), led | {"Cookie": "session=x"}).outcome == (401, "AUTH_REQUIRED")
    assert call(scene.target.wire, message(), led | bearer(token_of(scene.agent))).outcome == (403, "FORBIDDEN")
    # The name is not believed either way: what the service says of itself is its own.
    headers = {"Host": f"evil.example:{port}"}
    assert call(scene.target.wire, message(), headers | bearer(token_of(scene.agent))).status == 200
    refused = call(scene.target.wire, message(), headers)
    assert refused.status == 401
    assert "evil.example" not in json.dumps(refused.headers) + refused.body.decode()


def twice() -> bytes:
    return json.dumps(message()).encode()[:-1] + b',"method":"tools/call"}'


BROKEN: dict[str, tuple[Any, int, int]] = {
    "no JSON": (b"{", 400, -32700),
    "nothing": (b"", 400, -32700),
    "a name twice": (twice(), 400, -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', 400, -32700),
    "deeper than anything": (b"[" * 100_000, 400, -32700),
    "a batch": (json.dumps([message()] * 2).encode(), 400, -32600),
    "an empty batch": (b"[]", 400, -32600),
    "a text": (b'"tools/list"', 400, -32600),
    "another version": (message() | {"jsonrpc": "1.0"}, 400, -32600),
    "id null": (message() | {"id": None}, 400, -32600),
    "id fraction": (message() | {"id": 1.5}, 400, -32600),
    "id boolean": (message() | {"id": True}, 400, -32600),
    "id list": (message() | {"id": [1]}, 400, -32600),
    "id object": (message() | {"id": {}}, 400, -32600),
    "no method": ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
    "a method that is a number": (message() | {"method": 1}, 400, -32600),
    "params as a list": (message() | {"params": []}, 400, -32602),
    "another method": (message("admin/keys"), 404, -32601),
    "no such tool": (message("tools/call", name="deactivate_did", arguments={}), 400, -32602),
    "a stream of notices": (message("subscriptions/listen", notifications={}), 404, -32601),
    "a file": (message("resources/read", uri="file:///etc/passwd"), 400, -32602),
}


REVISIONS = [REVISION, "2025-11-25"]


def asked_for(body: Any) -> str | None:
    params = body.get("params") if isinstance(body, dict) else None
    return params.get("name") or params.get("uri") if isinstance(params, dict) else None


@pytest.mark.parametrize("name", BROKEN)
def test_messages_that_are_none_of_ours(scene: Scene, name: str) -> None:
    body, status, code = BROKEN[name]
    answer = call(scene.target.wire, body, bearer(token_of(scene.agent)), name=asked_for(body))
    assert (answer.status, answer.json["error"]["code"]) == (status, code), answer.body
    assert answer.headers["content-type"] == "application/json"
    # JSON-RPC 2.0 §5: null where the identifier could not be read.
    assert answer.json["id"] == (
        1 if isinstance(body, dict) and body.get("id") is not True and body["id"] == 1 else None
    )


@pytest.mark.parametrize("name", [one for one, (_, status, code) in BROKEN.items() if code in (-32600, -32700)])
def test_refusals_are_the_same_in_every_revision(scene: Scene, name: str) -> None:
    body, status, code = BROKEN[name]
    headers = bearer(token_of(scene.agent))
    told = [call(scene.target.wire, body, headers | {"MCP-Protocol-Version": one}) for one in REVISIONS]
    assert [(one.status, one.json["error"]["code"]) for one in told] == [(status, code)] * 2
    assert told[0].body == told[1].body
    for internal in (b"pydantic", b"JSONRPC", b"validation error"):
        assert internal not in told[0].body


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_content_type_says_what_the_body_is(scene: Scene, revision: str) -> None:
    headers = bearer(token_of(scene.agent)) | {"MCP-Protocol-Version": revision}
    # RFC 9110 §8.3: no content, no Content-Type.
    notified = call(scene.target.wire, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
    assert (notified.status, notified.body) == (202, b"")
    assert "content-type" not in notified.headers
    text = call(scene.target.wire, json.dumps(message()).encode(), headers | {"Content-Type": "text/plain"})
    assert (text.status, text.json["error"]["code"]) == (415, -32600)
    assert text.headers["content-type"] == "application/json"
    refused = call(scene.target.wire, message(), headers | {"Accept": "text/html"})
    assert (refused.status, refused.json["error"]["code"]) == (406, -32600)
    assert refused.headers["content-type"] == "application/json"
    # RFC 9110 §5.6.6: an empty parameter is none.
    for media_type in ("application/json;", "Application/JSON ; charset=utf-8"):
        assert call(scene.target.wire, message(), headers | {"Content-Type": media_type}).status == 200


def test_headers_that_say_something_else_than_the_body(scene: Scene) -> None:
    headers = bearer(token_of(scene.agent))
    for other in ({"Mcp-Method": "tools/call"}, {"MCP-Protocol-Version": "2030-01-01"}):
        answer = call(scene.target.wire, message(), headers | other)
        assert (answer.status, answer.json["error"]["code"] <= -32020) == (400, True), answer.body
    listed = message("tools/call", name="list_delegations", arguments={})
    assert call(scene.target.wire, listed, headers, name="resolve_did").json["error"]["code"] == -32020


def test_blanks_around_a_header_are_no_part_of_it(scene: Scene) -> None:
    listed = message("tools/call", name="list_delegations", arguments={})
    answer = call(scene.target.wire, listed, bearer(token_of(scene.agent)), name="  list_delegations \t")
    assert "structuredContent" in answer.json["result"]


def test_a_resource_that_there_is_not_is_named(scene: Scene) -> None:
    uri = "identity://proofs/unknown"
    answer = call(scene.target.wire, message("resources/read", uri=uri), bearer(token_of(scene.agent)), name=uri)
    assert (answer.json["error"]["code"], answer.json["error"]["data"]["uri"]) == (-32602, uri)
    assert answer.json["error"]["data"]["error"]["code"] == "PROOF_NOT_FOUND"


def test_sizes_and_methods(scene: Scene) -> None:
    headers = bearer(token_of(scene.agent))
    assert call(scene.target.wire, b"x" * 300_000, headers).status == 413
    for method in ("GET", "DELETE", "PUT"):
        assert scene.target.wire.call(method, "/mcp", None, headers).outcome == (405, "METHOD_NOT_ALLOWED")
    assert call(scene.target.wire, message(), headers | {"Accept": "text/html"}).status == 406


def test_another_agent_sees_none_of_it(scene: Scene) -> None:
    mallory = scene.people.mallory
    request = build_request(scene)
    for tool, given in (("check_delegation", request), ("request_proof", request)):
        told = message("tools/call", name=tool, arguments=given)
        answer = call(scene.target.wire, told, bearer(token_of(mallory)), name=tool).json["result"]
        # The token is for the agent that the holder has named, so another one learns neither that it is good nor what it opens.
        assert answer.get("isError") or answer["structuredContent"]["usable"] is False, answer
    made = call(
        scene.target.wire,
        message("tools/call", name="request_proof", arguments=request),
        bearer(token_of(scene.agent)),
        name="request_proof",
    ).json["result"]["structuredContent"]
    read = message("tools/call", name="get_proof", arguments={"proofId": made["proofId"]})
    answer = call(scene.target.wire, read, bearer(token_of(mallory)), name="get_proof").json["result"]
    assert (answer["isError"], answer["content"][0]["text"].partition(":")[0]) == (True, "PROOF_NOT_FOUND")


def test_a_token_ends_with_the_key_that_signed_for_it(people: People) -> None:
    holder, new = people.target.stranger.holder(), SigningKey.generate()
    headers = bearer(token_of(holder))
    assert call(holder.wire, message(), headers).status == 200
    assert holder.act("rotate", rotation(holder.key_id, multikey(bytes(new.verify_key)))).status == 200
    assert call(holder.wire, message(), headers).outcome == (401, "AUTH_FAILED")
