"""A service without the extension: its paths are off, and no copy is valid there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.servers import local_server

PRE_AUTHORIZED = "urn:ietf:params:oauth:grant-type:pre-authorized_code"
UNKNOWN = "urn:uuid:00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=GENEROUS | {"IDENTITY_EXTENSIONS_ENABLED": ""}) as server:
        yield server


@pytest.fixture(scope="module")
def wire(running: LocalServer) -> Iterator[Wire]:
    wire = Wire(running.url)
    yield wire
    wire.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{PREFIX}/credentials/{UNKNOWN}/offers"),
        ("POST", f"{PREFIX}/presentation-requests"),
        ("GET", f"{PREFIX}/presentation-requests/{'a' * 22}"),
        ("POST", "/openid/nonce"),
        ("POST", "/openid/credential"),
        ("GET", f"/openid/requests/{'a' * 22}"),
        ("POST", f"/openid/responses/{'a' * 22}"),
        ("GET", f"/openid/status/{'a' * 22}"),
        ("GET", "/.well-known/openid-credential-issuer/openid/dXJuOng"),
    ],
)
def test_path_is_off(wire: Wire, method: str, path: str) -> None:
    answer = wire.call(method, path, {} if method == "POST" else None)
    assert answer.outcome == (404, "NOT_FOUND")
    assert answer.json["error"]["details"]["extension"] == "wallets"


def test_metadata_and_token_endpoint_do_not_know_the_grant(wire: Wire) -> None:
    metadata = wire.call("GET", "/.well-known/oauth-authorization-server").json
    assert PRE_AUTHORIZED not in metadata["grant_types_supported"]
    assert "pre-authorized_grant_anonymous_access_supported" not in metadata
    form = f"grant_type={PRE_AUTHORIZED}&pre-authorized_code=x".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = wire.call("POST", "/oauth/token", form, headers)
    assert (refused.status, refused.json["error"]) == (400, "unsupported_grant_type")
    assert PRE_AUTHORIZED not in refused.json["details"]["supported"]


def test_document_has_no_operation_of_wallets(wire: Wire) -> None:
    operations = [each for item in wire.call("GET", "/openapi.json").json["paths"].values() for each in item.values()]
    names = {each["operationId"] for each in operations if isinstance(each, dict)}
    assert "issueCredential" in names
    assert names.isdisjoint({"createCredentialOffer", "requestPresentation", "getPresentation"})
