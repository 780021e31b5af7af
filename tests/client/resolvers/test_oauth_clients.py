"""Clients of OAuth that others wrote sign in as a DID, as they come: authlib, requests-oauthlib, the MCP SDK, oauth4webapi (npm)."""

from __future__ import annotations

import asyncio
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
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc.jwk import OKPKey
from mcp.client.auth.extensions.client_credentials import PrivateKeyJWTOAuthProvider, SignedJWTParameters
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from oauthlib.oauth2 import BackendApplicationClient, InvalidClientError
from requests_oauthlib import OAuth2Session

from tests.attack.stranger import PREFIX, Holder, base64url
from tests.client.resolvers.conftest import holder
from tests.fault.service_process import Running

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
DELEGATIONS = f"{PREFIX}/delegations"


@pytest.fixture(scope="module")
def aki(running: Running) -> Holder:
    return holder(running, "ids")


@pytest.fixture(scope="module")
def metadata(running: Running) -> dict[str, Any]:
    found: dict[str, Any] = running.wire.call("GET", "/.well-known/oauth-authorization-server").json
    return found


def pem(one: Holder) -> str:
    key = Ed25519PrivateKey.from_private_bytes(bytes(one.key))
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def jwk(one: Holder) -> dict[str, str]:
    return {"kty": "OKP", "crv": "Ed25519", "x": base64url(bytes(one.key.verify_key)), "d": base64url(bytes(one.key))}


def test_authlib(running: Running, aki: Holder, metadata: dict[str, Any]) -> None:
    endpoint = metadata["token_endpoint"]
    session = AuthlibSession(aki.did, OKPKey.import_key(jwk(aki)), token_endpoint_auth_method="private_key_jwt")
    session.register_client_auth_method(PrivateKeyJWT(endpoint, alg="EdDSA"))
    token = session.fetch_token(endpoint, grant_type="client_credentials", scope="delegations:read")
    assert token["scope"] == "delegations:read"
    assert session.get(running.wire.url + DELEGATIONS).status_code == 200


def test_requests_oauthlib(
    running: Running, aki: Holder, metadata: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    now = int(time.time())
    claims = {"iss": aki.did, "sub": aki.did, "aud": metadata["issuer"], "exp": now + 60, "jti": str(uuid.uuid4())}
    session = OAuth2Session(client=BackendApplicationClient(aki.did, scope=["delegations:read"]))
    asked: dict[str, Any] = {
        "token_url": metadata["token_endpoint"],
        "include_client_id": True,
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": jwt.encode(claims, pem(aki), algorithm="EdDSA"),
    }
    assert session.fetch_token(**asked)["token_type"] == "Bearer"
    assert session.get(running.wire.url + DELEGATIONS).status_code == 200
    with pytest.raises(InvalidClientError):
        session.fetch_token(**asked)


class Kept:
    """Where the SDK keeps its token."""

    token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("a DID is a client already")


def test_the_mcp_sdk_finds_the_endpoint_by_the_challenge_alone(running: Running, aki: Holder) -> None:
    signing = SignedJWTParameters(issuer=aki.did, subject=aki.did, signing_key=pem(aki), signing_algorithm="EdDSA")
    kept = Kept()
    provider = PrivateKeyJWTOAuthProvider(
        running.wire.url + PREFIX,
        kept,
        aki.did,
        signing.create_assertion_provider(),
        scope="delegations:read",
        issuer=running.wire.url,
    )

    async def listed() -> int:
        async with httpx2.AsyncClient(auth=provider) as client:
            return (await client.get(running.wire.url + DELEGATIONS)).status_code

    assert asyncio.run(listed()) == 200
    assert kept.token is not None
    said = jwt.decode(kept.token.access_token, options={"verify_signature": False})
    assert (said["sub"], said["aud"]) == (aki.did, running.wire.url + PREFIX)


def test_oauth4webapi(packages: Path, running: Running, aki: Holder) -> None:
    resource = running.wire.url + PREFIX
    asked = {"issuer": running.wire.url, "resource": resource, "clientId": aki.did, "key": jwk(aki)}
    done = subprocess.run(
        ["node", "sign_in.mjs"],
        cwd=packages,
        input=json.dumps(asked | {"url": running.wire.url + DELEGATIONS}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["scope"] == "delegations:read"
    assert found["status"] == 200
    assert found["claims"]["client_id"] == aki.did
    assert found["broken"] == {"error": "invalid_token", "resource_metadata": found["resourceMetadata"]}
    assert found["refused"] == "invalid_scope"
