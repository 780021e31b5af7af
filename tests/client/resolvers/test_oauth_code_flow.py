"""Clients of OAuth that others wrote let a holder sign in by the code flow, as they come: authlib, requests-oauthlib, the MCP SDK,
oauth4webapi (npm). What her browser would do is done by raw requests; ``tests/ui/test_authorize.py`` has the browser."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc.jwk import OKPKey
from requests_oauthlib import OAuth2Session

from plugins.oauth.tests.code_flow import CALLBACK, approved, registers
from tests.attack.stranger import PREFIX, Holder
from tests.client.resolvers.conftest import holder
from tests.client.resolvers.test_oauth_clients import ASSERTION_TYPE, DELEGATIONS, jwk, pem
from tests.fault.service_process import Running
from tests.mcp_client import filed_for, holders_provider

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


def test_the_mcp_sdk_signs_a_holder_in_by_the_challenge_alone(running: Running, hana: Holder, app: Holder) -> None:
    filed, url = filed_for(app.did, LOCAL), running.wire.url + PREFIX
    provider = holders_provider(url, LOCAL, filed, functools.partial(approved, hana))

    async def listed() -> int:
        async with httpx2.AsyncClient(auth=provider) as client:
            return (await client.get(running.wire.url + DELEGATIONS)).status_code

    assert asyncio.run(listed()) == 200
    assert filed.token is not None
    said = claims(filed.token.access_token)
    assert (said["sub"], said["client_id"], said["aud"]) == (hana.did, app.did, running.wire.url + PREFIX)
    # The scope is the one that the challenge of the operation names (RFC 6750 §3).
    assert said["scope"] == "delegations:read"


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
