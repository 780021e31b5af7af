"""A service without the extension: no tokens are issued, and every other credential works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plugins.oauth.tests.gateway_plugin import GATEWAY
from tests.attack.stranger import GENEROUS, PREFIX, Stranger, Wire
from tests.servers import local_server

OFF = {"IDENTITY_EXTENSIONS_DISABLED": "oauth", "IDENTITY_EXTENSIONS_ENABLED": ""}


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    with local_server(
        environment=GENEROUS | OFF | {"IDENTITY_PLUGINS_MODULES": "plugins.oauth.tests.gateway_plugin"}
    ) as server:
        wire = Wire(server.url)
        yield Stranger(wire, server.api_key)
        wire.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{PREFIX}/auth/token"),
        ("GET", f"{PREFIX}/.well-known/jwks.json"),
        ("GET", "/.well-known/jwks.json"),
        ("GET", f"{PREFIX}/auth/token"),
        ("POST", "/oauth/token"),
        ("GET", "/oauth/authorize"),
        ("POST", "/oauth/authorize"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", f"/.well-known/oauth-protected-resource{PREFIX}"),
    ],
)
def test_path_is_404_with_the_remedy(stranger: Stranger, method: str, path: str) -> None:
    answer = stranger.wire.call(method, path, {} if method == "POST" else None)
    assert answer.outcome == (404, "NOT_FOUND")
    details = answer.json["error"]["details"]
    assert details["extension"] == "oauth"
    assert details["remedy"] == "Enable it: identity extensions enable oauth, then restart."


def test_document_and_version_leave_it_out(stranger: Stranger) -> None:
    found = stranger.wire.call("GET", "/openapi.json").json["paths"]
    names = {each["operationId"] for item in found.values() for each in item.values()}
    assert "getDidAuthChallenge" in names
    assert names.isdisjoint({"issueToken", "getJwks"})
    assert "oauth" not in stranger.wire.call("GET", "/version").json["extensions"].split(", ")


def test_signatures_and_api_keys_are_accepted(stranger: Stranger) -> None:
    holder = stranger.holder()
    change = {
        "operation": "addService",
        "service": {"id": "hub", "type": "Hub", "serviceEndpoint": "https://hub.example"},
    }
    assert holder.act("update", change).status == 200
    for headers in ({"X-API-Key": stranger.api_key}, {"Authorization": f"Bearer {stranger.api_key}"}):
        assert stranger.wire.call("GET", f"{PREFIX}/dids", None, headers).status == 200


def test_tokens_of_plugins_are_accepted(stranger: Stranger) -> None:
    holder = stranger.holder()

    def listed(token: str) -> tuple[int, str]:
        answer = stranger.wire.call("GET", f"{PREFIX}/delegations", None, {"Authorization": f"Bearer {token}"})
        return answer.outcome if answer.status != 200 else (200, "")

    assert listed(f"{GATEWAY}{holder.did}") == (200, "")
    for token in (f"{GATEWAY}bad", f"{GATEWAY}did:ids:unknown", "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJ4In0.AAAA", "none"):
        assert listed(token) == (401, "AUTH_FAILED")


def test_challenge_names_no_issuer_of_tokens(stranger: Stranger) -> None:
    refused = stranger.wire.call("GET", f"{PREFIX}/delegations")
    assert refused.outcome == (401, "AUTH_REQUIRED")
    assert 'Bearer realm="identity"' in refused.headers["www-authenticate"]
    assert "resource_metadata" not in refused.headers["www-authenticate"]


def test_pages_are_served(stranger: Stranger) -> None:
    assert stranger.wire.call("GET", "/ui", None, {"Accept": "text/html"}).status == 200
