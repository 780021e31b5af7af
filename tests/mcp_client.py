"""Agents at ``/mcp``: by the SDK's own client, and by bytes of our own making."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import PrivateKeyJWTOAuthProvider, SignedJWTParameters
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from nacl.signing import SigningKey
from pydantic import AnyUrl

from tests.attack.stranger import Answer, Holder, Wire, multikey

REVISION = "2026-07-28"
SCOPES = "delegations:read zkp:prove zkp:verify"


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


def provider(agent: Holder, kept: Kept, scope: str = SCOPES) -> PrivateKeyJWTOAuthProvider:
    key = Ed25519PrivateKey.from_private_bytes(bytes(agent.key))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    signing = SignedJWTParameters(issuer=agent.did, subject=agent.did, signing_key=pem, signing_algorithm="EdDSA")
    url = agent.wire.url
    return PrivateKeyJWTOAuthProvider(
        f"{url}/mcp", kept, agent.did, signing.create_assertion_provider(), scope=scope, issuer=url
    )


def with_client(agent: Holder, talk: Callable[[Client], Awaitable[Any]], **how: Any) -> OAuthToken:
    """``talk`` with a client of the SDK that knows no more than a URL and the agent's key. The token that it got."""
    kept = Kept()
    return _talked(f"{agent.wire.url}/mcp", provider(agent, kept), kept, talk, **how)


class Filed(Kept):
    """Where the SDK finds the client that its operator registered."""

    def __init__(self, client: OAuthClientInformationFull) -> None:
        self.client = client

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client


def holders_provider(url: str, redirect: str, filed: Filed, approves: Callable[[str], str]) -> OAuthClientProvider:
    """A client without a key for the resource at ``url``, whose browser goes to a place and, by ``approves``, comes back to another."""
    went: list[str] = []

    async def opens(place: str) -> None:
        went.append(await asyncio.to_thread(approves, place))

    async def came_back() -> AuthorizationCodeResult:
        assert went[-1].startswith(redirect)
        said = {name: one for name, (one,) in parse_qs(urlsplit(went[-1]).query).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    return OAuthClientProvider(url, wanted_of(redirect), filed, opens, came_back)


def wanted_of(redirect: str) -> OAuthClientMetadata:
    """What such a client says of itself."""
    return OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], token_endpoint_auth_method="none")


def filed_for(app: str, redirect: str) -> Filed:
    """The client ``app`` as its operator registered it."""
    return Filed(OAuthClientInformationFull(client_id=app, **wanted_of(redirect).model_dump()))


def with_holder(
    app: str, url: str, redirect: str, approves: Callable[[str], str], talk: Callable[[Client], Awaitable[Any]]
) -> OAuthToken:
    """``talk`` with a client of the SDK that knows no more than the URL of the service and lets a holder sign in. The token that it got."""
    filed = filed_for(app, redirect)
    return _talked(f"{url}/mcp", holders_provider(f"{url}/mcp", redirect, filed, approves), filed, talk)


def _talked(
    url: str, auth: OAuthClientProvider, kept: Kept, talk: Callable[[Client], Awaitable[Any]], **how: Any
) -> OAuthToken:
    async def run() -> None:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), **how) as client,
        ):
            await talk(client)

    asyncio.run(run())
    assert kept.token is not None
    return kept.token


SECRET = b"\x80\x26"


def key_file(folder: Path, key: SigningKey) -> Path:
    path = folder / "agent.key"
    path.write_text(multikey(bytes(key), SECRET) + "\n")
    path.chmod(0o600)
    return path


def environment(agent: Holder, folder: Path) -> dict[str, str]:
    """The variables of ``identity-mcp`` for ``agent``."""
    path = str(key_file(folder, agent.key))
    return {"IDENTITY_URL": agent.wire.url, "IDENTITY_AGENT_DID": agent.did, "IDENTITY_AGENT_KEY_FILE": path}


def command() -> str:
    """The path of ``identity-mcp``."""
    found = shutil.which("identity-mcp", path=str(Path(sys.executable).parent))
    assert found is not None
    return found


def with_command(agent: Holder, folder: Path, talk: Callable[[Client], Awaitable[Any]], **how: Any) -> Any:
    """What ``talk`` returns, of a client of the SDK that has started ``identity-mcp`` for ``agent``."""

    async def run() -> Any:
        started = StdioServerParameters(command=command(), env=environment(agent, folder))
        async with Client(started, **how) as client:
            return await talk(client)

    return asyncio.run(run())


Headers = dict[str, str]


def token_of(agent: Holder, scope: str = SCOPES, resource: str = "/mcp") -> str:
    """An access token, obtained by a form of our own making."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(agent.key))
    now, url = int(time.time()), agent.wire.url
    claims = {"iss": agent.did, "sub": agent.did, "aud": url, "exp": now + 60, "jti": str(uuid.uuid4())}
    return signed_in(agent.wire, jwt.encode(claims, key, algorithm="EdDSA"), scope, resource)


def signed_in(wire: Wire, assertion: str, scope: str = SCOPES, resource: str = "/mcp") -> str:
    """An access token for an assertion."""
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": assertion,
        "scope": scope,
        "resource": wire.url + resource,
    }
    sent = {"Content-Type": "application/x-www-form-urlencoded"}
    token: str = wire.call("POST", "/oauth/token", urlencode(form).encode(), sent).json["access_token"]
    return token


def message(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": {"name": "stranger", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def call(wire: Wire, body: Any, headers: Headers, *, name: str | None = None) -> Answer:
    method = body.get("method", "tools/list") if isinstance(body, dict) else "tools/list"
    sent = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION, "Mcp-Method": method}
    return wire.call("POST", "/mcp", body, sent | ({} if name is None else {"Mcp-Name": name}) | headers)


def bearer(token: str) -> Headers:
    return {"Authorization": f"Bearer {token}"}


def call_tool(wire: Wire, token: str, name: str, arguments: dict[str, Any]) -> Any:
    """The result of a tool."""
    answer = call(wire, message("tools/call", name=name, arguments=arguments), bearer(token), name=name)
    assert answer.status == 200, answer.body
    return answer.json["result"]
