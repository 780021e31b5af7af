"""Clients of OAuth that others wrote let a holder sign in by the code flow, as they come: authlib, requests-oauthlib, the MCP SDK,
oauth4webapi (npm). What her browser would do is done by raw requests; ``tests/ui/test_authorize.py`` has the browser."""

from __future__ import annotations

import asyncio
import html
import json
import re
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
import pytest
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import OKPKey
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from requests_oauthlib import OAuth2Session

from tests.attack.code_flow import CALLBACK, decision, registers
from tests.attack.stranger import PREFIX, Holder
from tests.attack.test_oauth import FORM
from tests.client.resolvers.conftest import holder
from tests.client.resolvers.test_oauth_clients import ASSERTION_TYPE, DELEGATIONS, Kept, jwk, pem
from tests.fault.service_process import Running

LOCAL = "http://127.0.0.1:49152/callback"


@pytest.fixture(scope="module")
def hana(running: Running) -> Holder:
    return holder(running, "ids")


@pytest.fixture(scope="module")
def shop(running: Running) -> Holder:
    return registers(holder(running, "ids"), "OAuthRedirect", CALLBACK)


@pytest.fixture(scope="module")
def app(running: Running) -> Holder:
    return registers(holder(running, "ids"), "OAuthNativeRedirect", "http://127.0.0.1/callback")


def approved(hana: Holder, url: str) -> str:
    """Where her browser goes from ``url`` when she has signed what the page holds."""
    parts = urlsplit(url)
    shown = hana.wire.call("GET", f"{parts.path}?{parts.query}")
    assert shown.status == 200, shown.body
    (said,) = re.findall(r'data-request="([^"]*)"', shown.body.decode())
    # The attribute is escaped, and what it holds as well.
    asked = json.loads(html.unescape(said))
    headers = {"Content-Type": FORM, "Authorization": decision(hana, asked)}
    answer = hana.wire.call("POST", "/oauth/authorize", urlencode(asked).encode(), headers)
    assert answer.status == 200, answer.body
    return str(answer.json["redirect_to"])


def claims(token: str) -> Any:
    return jwt.decode(token, options={"verify_signature": False})


@pytest.fixture(scope="module")
def metadata(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.wire.call("GET", "/.well-known/oauth-authorization-server").json
    return found


def test_authlib(running: Running, hana: Holder, shop: Holder, metadata: dict[str, Any]) -> None:
    endpoint, verifier = metadata["token_endpoint"], "v" * 48
    session = AuthlibSession(
        shop.did,
        OKPKey.import_key(jwk(shop)),
        token_endpoint_auth_method="private_key_jwt",
        redirect_uri=CALLBACK,
        scope="delegations:read",
        code_challenge_method="S256",
    )
    session.register_client_auth_method(PrivateKeyJWT(endpoint, alg="EdDSA"))
    url, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    token = session.fetch_token(
        endpoint, authorization_response=approved(hana, url), state=state, code_verifier=verifier
    )
    assert (claims(token["access_token"])["sub"], token["scope"]) == (hana.did, "delegations:read")
    assert session.get(running.wire.url + DELEGATIONS).status_code == 200


def test_requests_oauthlib(
    running: Running, hana: Holder, shop: Holder, metadata: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    said = {"iss": shop.did, "sub": shop.did, "aud": metadata["issuer"], "exp": int(time.time()) + 60}
    session = OAuth2Session(shop.did, redirect_uri=CALLBACK, scope=["delegations:read"], pkce="S256")
    url, _ = session.authorization_url(metadata["authorization_endpoint"])
    token = session.fetch_token(
        metadata["token_endpoint"],
        authorization_response=approved(hana, url),
        include_client_id=True,
        client_assertion_type=ASSERTION_TYPE,
        client_assertion=jwt.encode(said | {"jti": str(uuid.uuid4())}, pem(shop), algorithm="EdDSA"),
    )
    assert claims(token["access_token"])["sub"] == hana.did
    assert session.get(running.wire.url + DELEGATIONS).status_code == 200


class Filed(Kept):
    """Where the SDK finds the client that its operator registered."""

    def __init__(self, client: OAuthClientInformationFull) -> None:
        self.client = client

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client


def test_the_mcp_sdk_signs_a_holder_in_by_the_challenge_alone(running: Running, hana: Holder, app: Holder) -> None:
    wanted = OAuthClientMetadata(redirect_uris=[LOCAL], token_endpoint_auth_method="none")
    filed = Filed(OAuthClientInformationFull(client_id=app.did, **wanted.model_dump()))
    went: list[str] = []

    async def opens(url: str) -> None:
        went.append(await asyncio.to_thread(approved, hana, url))

    async def came_back() -> AuthorizationCodeResult:
        said = {name: one for name, (one,) in parse_qs(urlsplit(went[0]).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    provider = OAuthClientProvider(running.wire.url + PREFIX, wanted, filed, opens, came_back)

    async def listed() -> int:
        async with httpx2.AsyncClient(auth=provider) as client:
            return (await client.get(running.wire.url + DELEGATIONS)).status_code

    assert asyncio.run(listed()) == 200
    assert went[0].startswith(LOCAL)
    assert filed.token is not None
    said = claims(filed.token.access_token)
    assert (said["sub"], said["client_id"], said["aud"]) == (hana.did, app.did, running.wire.url + PREFIX)
    # It asks for every scope that the metadata names, and gets those that a client can have.
    assert said["scope"] == "credentials:read delegations:read zkp:prove zkp:verify"


def test_oauth4webapi(packages: Path, running: Running, hana: Holder, shop: Holder) -> None:
    resource, url = running.wire.url + PREFIX, running.wire.url + DELEGATIONS
    asked = {"issuer": running.wire.url, "resource": resource, "clientId": shop.did, "key": jwk(shop)}
    command = ["node", "sign_in_holder.mjs"]
    with subprocess.Popen(command, cwd=packages, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write(json.dumps(asked | {"redirectUri": CALLBACK, "url": url}) + "\n")
        node.stdin.flush()
        node.stdin.write(approved(hana, node.stdout.readline().strip()) + "\n")
        node.stdin.flush()
        found = json.loads(node.stdout.readline())
    assert (found["scope"], found["status"], found["again"]) == ("delegations:read", 200, "invalid_grant")
    assert (found["claims"]["sub"], found["claims"]["client_id"]) == (hana.did, shop.did)
