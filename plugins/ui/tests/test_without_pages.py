"""The service without pages: they are off, or the extension is. Operations work, and OAuth has no code flow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from identity_ui.extension import sessions_secret

from tests.attack.page_requests import FORM, OWN
from tests.attack.stranger import Stranger, Wire
from tests.servers import local_server


@pytest.fixture(
    scope="module",
    params=[{"IDENTITY_UI_ENABLED": "false"}, {"IDENTITY_PLUGINS_DISABLED": "ui"}],
    ids=["pages off", "extension off"],
)
def stranger(request: pytest.FixtureRequest) -> Iterator[Stranger]:
    with local_server(environment=request.param) as server:
        wire = Wire(server.url)
        yield Stranger(wire, server.api_key)
        wire.close()


@pytest.mark.parametrize("path", ["/", "/ui", "/ui/verify", "/ui/home", "/ui/operator"])
def test_no_page_is_served(stranger: Stranger, path: str) -> None:
    assert stranger.wire.call("GET", path, None, {"Accept": "text/html"}).outcome == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["/ui/session", "/ui/consent/reply", "/ui/operator/session"])
def test_no_form_is_taken(stranger: Stranger, path: str) -> None:
    assert stranger.wire.call("POST", path, b"", OWN | FORM).outcome == (404, "NOT_FOUND")


def test_oauth_has_no_code_flow(stranger: Stranger) -> None:
    metadata = stranger.wire.call("GET", "/.well-known/oauth-authorization-server").json
    assert "response_types_supported" not in metadata
    assert "authorization_code" not in metadata["grant_types_supported"]
    page = stranger.wire.call("GET", "/oauth/authorize")
    assert (page.status, page.json["error"]) == (400, "unauthorized_client")
    form = urlencode({"grant_type": "authorization_code", "code": "x", "client_id": "did:ids:x"}).encode()
    refused = stranger.wire.call("POST", "/oauth/token", form, {"Content-Type": FORM["Content-Type"]})
    assert (refused.status, refused.json["error"]) == (400, "unsupported_grant_type")


def test_operations_work(stranger: Stranger) -> None:
    made = stranger.holder()
    assert stranger.wire.call("GET", f"/api/v1/dids/{made.did}").status == 200


def test_an_upgrade_keeps_sessions() -> None:
    """The secret is what version 1.0 derived."""

    class Signing:
        async def sign(self, name: str, message: bytes) -> bytes:
            return name.encode() + b"|" + message

    secret = asyncio.run(sessions_secret(Signing()))  # type: ignore[arg-type]
    assert secret.hex() == "6a2124643cbe1df055df25257f6841361fe9419ead637b22e375482efb2a1164"
