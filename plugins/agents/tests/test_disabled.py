"""A service without the extension, or without a setting that serves its endpoints: their paths are 404 with the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import GENEROUS, Wire
from tests.mcp_client import bearer, token_of
from tests.servers import local_server

SETTINGS = {"/mcp": "mcp.enabled", "/a2a": "a2a.enabled"}
OFF: dict[str, dict[str, str]] = {
    "by default": {"IDENTITY_EXTENSIONS_ENABLED": ""},
    "on without a setting": {"IDENTITY_EXTENSIONS_ENABLED": "agents"},
    "disabled": {
        "IDENTITY_EXTENSIONS_ENABLED": "",
        "IDENTITY_EXTENSIONS_DISABLED": "agents",
        "IDENTITY_MCP_ENABLED": "true",
        "IDENTITY_A2A_ENABLED": "true",
    },
}


@pytest.fixture(scope="module", params=[*OFF])
def off(request: pytest.FixtureRequest) -> Iterator[tuple[str, Wire]]:
    with local_server(environment=GENEROUS | OFF[request.param]) as server:
        wire = Wire(server.url)
        yield request.param, wire
        wire.close()


@pytest.mark.parametrize("path", [*SETTINGS])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_path_is_404_with_the_remedy(off: tuple[str, Wire], method: str, path: str) -> None:
    why, wire = off
    answer = wire.call(method, path, {} if method == "POST" else None)
    assert answer.outcome == (404, "NOT_FOUND")
    remedy = "Enable it: identity extensions enable agents" if why == "disabled" else f"Set {SETTINGS[path]} to true"
    details = answer.json["error"]["details"]
    assert (details["extension"], details["remedy"]) == ("agents", f"{remedy}, then restart.")


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/ext/request-proof/v1"])
def test_page_is_404_with_the_remedy(off: tuple[str, Wire], path: str) -> None:
    why, wire = off
    answer = wire.call("GET", path)
    assert answer.outcome == (404, "NOT_FOUND")
    assert answer.json["error"]["details"].get("extension") == (None if why == "on without a setting" else "agents")


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/.well-known/oauth-protected-resource/mcp"])
def test_metadata_do_not_name_the_endpoints(off: tuple[str, Wire], path: str) -> None:
    assert off[1].call("GET", path).outcome == (404, "NOT_FOUND")


def test_document_is_the_same(off: tuple[str, Wire]) -> None:
    """No endpoint of the extension is in the document, so it is complete without them."""
    paths = off[1].call("GET", "/openapi.json").json["paths"]
    assert "/zkp/delegated-proofs" in paths
    assert not {*SETTINGS} & {*paths}


def test_setting_alone_serves_its_endpoint_and_no_other() -> None:
    """As in an installation of version 1.0 that sets it, which names no extension."""
    settings = {"IDENTITY_EXTENSIONS_ENABLED": "", "IDENTITY_A2A_ENABLED": "true"}
    with local_server(environment=GENEROUS | settings) as server:
        wire = Wire(server.url)
        assert wire.call("GET", "/.well-known/agent-card.json").status == 200
        assert wire.call("GET", "/.well-known/oauth-protected-resource/a2a").json["resource"].endswith("/a2a")
        assert wire.call("POST", "/a2a", {}).outcome == (401, "AUTH_REQUIRED")
        assert (
            wire.call("POST", "/mcp", {}).json["error"]["details"]["remedy"] == "Set mcp.enabled to true, then restart."
        )
        assert "agents" in wire.call("GET", "/version").json["extensions"]
        wire.close()


def test_without_consents_no_holder_is_asked() -> None:
    """A task without the holder's token is refused; one that has it ends with the proof."""
    with People.served(IDENTITY_A2A_ENABLED="true", IDENTITY_EXTENSIONS_DISABLED="consents") as people:
        scene = Scene.create(people)
        token = token_of(scene.agent, scope="zkp:prove", resource="/a2a")
        headers = bearer(token) | {"A2A-Version": "1.0"}

        def send(data: dict[str, Any]) -> Any:
            message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": data}]}
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
            return scene.target.wire.call("POST", "/a2a", call, headers).json

        arguments = {name: value for name, value in scene.body().items() if name != "agentDid"}
        refused = send({name: value for name, value in arguments.items() if name != "ibct"})
        assert "ibct is missing" in refused["error"]["message"]
        assert send(arguments)["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
