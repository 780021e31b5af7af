"""The agent at its service: its key, its access token, and calls of the interface.

The key signs client assertions (``private_key_jwt``, RFC 7523 §2.2) and nothing else. The audience is the issuer that the operator has
set, never one that the service names: else another service could ask for assertions that are good at this one.
"""

from __future__ import annotations

import os
import stat
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import orjson
from mcp_types.version import LATEST_MODERN_VERSION
from msgspec import Struct, field

from identity_client.answers import UNREADABLE, Body, UnreadableAnswer, read_stream
from identity_client.operations import served_operations
from identity_codec import ed25519, multibase, multikey
from identity_codec.values import Hidden
from identity_core.domain.callers import OF_AGENTS
from identity_core.files import read_regular, require_own
from identity_mcp.service import NOTHING, Refused

PREFIX: Final = "/api/v1"
TOOLS_PATH: Final = "/mcp"
"""Where a service has tools of its own, and asks holders for them."""

INVALID_TARGET: Final = "invalid_target"
"""What a service says of a resource that it does not have (RFC 8707 §2)."""

META: Final = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALLING: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": LATEST_MODERN_VERSION,
    "Mcp-Method": "tools/call",
}
SCOPES: Final = " ".join(sorted(OF_AGENTS))
"""No more than the tools need."""

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS: Final = 60
RENEWED_BEFORE_SECONDS: Final = 30.0
TIMEOUT_SECONDS: Final = 60.0
MOST_OCTETS: Final = 64 * 1024 * 1024
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class NotSetUp(Exception):
    """A setting of the environment is missing or invalid; the message has the remedy, and contains no secret."""


class AgentKey(Hidden, Struct, frozen=True):
    """A DID and the 32 raw bytes of one of its authentication keys."""

    did: str
    secret: bytes

    @classmethod
    def read(cls, did: str, path: Path) -> AgentKey:
        """Read the key from a file with the secret multikey (``z3u2…``) that only its owner may read. Raises ``NotSetUp``."""
        try:
            if os.name == "posix" and path.stat().st_mode & OTHERS:
                raise NotSetUp(f"{path} may be read by others than its owner: chmod 600 it.")
            require_own(path)
            text = read_regular(path).decode("ascii").strip()
            kind, secret = multikey.decode_secret(text)
        except (OSError, ValueError) as error:
            raise NotSetUp(f"{path} is not a file with a secret multikey (z3u2…).") from error
        if kind != multikey.ED25519:
            raise NotSetUp(f"{path} holds a key of another type than Ed25519.")
        return cls(did, secret)

    def assertion(self, issuer: str, now: int) -> str:
        """Return a client assertion of now, for one use."""
        head = {"alg": "EdDSA", "typ": "client-authentication+jwt"}
        times = {"iat": now, "exp": now + ASSERTION_SECONDS, "jti": str(uuid.uuid4())}
        claims = {"iss": self.did, "sub": self.did, "aud": issuer, **times}
        text = ".".join(multibase.base64url_encode(orjson.dumps(part)) for part in (head, claims))
        return f"{text}.{multibase.base64url_encode(ed25519.sign(self.secret, text.encode('ascii')))}"


class Agent(Hidden, Struct):
    """``url`` is where the service is called, ``issuer`` its own name (``public_url``)."""

    key: AgentKey
    url: str
    issuer: str
    http: httpx.AsyncClient
    _tokens: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By resource: the token, and until when (monotonic) it is used."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], http: httpx.AsyncClient) -> Agent:
        """By ``IDENTITY_URL``, ``IDENTITY_AGENT_DID``, ``IDENTITY_AGENT_KEY_FILE``, and ``IDENTITY_ISSUER`` where the service has another
        name than its URL. Raises ``NotSetUp``."""
        names = ("IDENTITY_URL", "IDENTITY_AGENT_DID", "IDENTITY_AGENT_KEY_FILE")
        missing = [name for name in names if not environment.get(name)]
        if missing:
            raise NotSetUp(f"Set {' and '.join(missing)}.")
        url, did, path = (environment[name] for name in names)
        url = url.rstrip("/")
        return cls(AgentKey.read(did, Path(path)), url, environment.get("IDENTITY_ISSUER", url).rstrip("/"), http)

    @property
    def did(self) -> str:
        """The agent's DID."""
        return self.key.did

    async def ask(
        self, operation: str, body: Any = None, *, path: Mapping[str, str] = NOTHING, query: Mapping[str, Any] = NOTHING
    ) -> Any:
        """Return the JSON of an operation's answer. A token that the service takes no more is renewed once. Raises ``Refused``."""
        served = served_operations()[operation]
        place = served.path.format(**{name: segment(text) for name, text in path.items()})
        return _value(await self._send(served.method, PREFIX + place, body, query=query))

    async def consent(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer of the service, which asks the holder for tools at ``/mcp``: as ``Service.consent``, and
        where she has approved ``proved`` with the proof that it made of her token. Raises ``Refused``, also where the
        service has no such place."""
        tool = "request_proof" if "predicate" in given else "request_presentation"
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": given, "_meta": META},
        }
        headers = CALLING | {"Mcp-Name": tool}
        try:
            told = _value(await self._send("POST", TOOLS_PATH, call, resource=TOOLS_PATH, headers=headers))
        except Refused as refused:
            if refused.code not in (INVALID_TARGET, "NOT_FOUND"):
                raise
            raise Refused("INVALID_REQUEST", "ibct is missing, and this service asks no holder for one.") from refused
        try:
            result = told["result"]
            if result.get("isError"):
                raise _refused(result["structuredContent"]["error"])
            said: Mapping[str, Any] = result["structuredContent"]
        except (LookupError, TypeError, AttributeError) as error:
            raise Refused("UNREADABLE", "The service's tools answered with something unreadable.") from error
        return said

    async def _send(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        query: Mapping[str, Any] = NOTHING,
        resource: str = "",
        headers: Mapping[str, str] = NOTHING,
    ) -> httpx.Response:
        """Return the answer to the agent, once more with a new token where the service does not take the one that there is."""
        content = None if body is None else orjson.dumps(body)
        params = {name: value for name, value in query.items() if value is not None}
        sent = {**headers} if body is None else {"Content-Type": "application/json", **headers}
        for _ in range(2):
            sent["Authorization"] = f"Bearer {await self._bearer(resource)}"
            answer = await self._request(method, path, content=content, params=params, headers=sent)
            if answer.status_code != 401:
                break
            self._tokens.pop(resource, None)
        return answer

    async def _bearer(self, resource: str) -> str:
        token, good_until = self._tokens.get(resource, ("", 0.0))
        if time.monotonic() >= good_until:
            form = {
                "grant_type": "client_credentials",
                "client_assertion_type": ASSERTION_TYPE,
                "client_assertion": self.key.assertion(self.issuer, int(time.time())),
                "scope": SCOPES,
            } | ({"resource": self.issuer + resource} if resource else {})
            found = _value(await self._request("POST", "/oauth/token", data=form))
            token = found["access_token"]
            self._tokens[resource] = token, time.monotonic() + found["expires_in"] - RENEWED_BEFORE_SECONDS
        return token

    async def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Accept-Encoding": "identity", **more.pop("headers", NOTHING)}
        try:
            async with self.http.stream(
                method, self.url + path, timeout=TIMEOUT_SECONDS, headers=headers, **more
            ) as answer:
                return httpx.Response(answer.status_code, content=await read_stream(Body(answer, MOST_OCTETS)))
        except httpx.TransportError as error:
            raise Refused("UNREACHABLE", f"{self.url} does not answer.") from error
        except UnreadableAnswer as error:
            raise Refused(UNREADABLE, f"The service answers unreadably: {error.message}.") from error


def segment(text: str) -> str:
    """Return one segment of a path, whatever the text. Raises ``Refused`` for one that would be another path."""
    if text in (".", ".."):
        raise Refused("INVALID_REQUEST", "This is not an identifier.")
    return quote(text, safe="")


def _value(answer: httpx.Response) -> Any:
    """Raise ``Refused`` for an error in the service's shape or OAuth's, and for what is neither."""
    try:
        value: Any = orjson.loads(answer.content)
        if answer.status_code < 400:
            return value
        error = value["error"]
        if isinstance(error, str):
            code = error if error == INVALID_TARGET else value.get("code", error)
            raise Refused(code, value.get("error_description", error))
        raise _refused(error)
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise Refused("UNREADABLE", f"The service answered {answer.status_code} with something unreadable.") from error


def _refused(error: Mapping[str, Any]) -> Refused:
    """Return a refusal in the service's shape. ``requestId`` is for the log, and not for a model. Raises ``KeyError``, ``TypeError``."""
    details = {name: value for name, value in dict(error.get("details") or {}).items() if name != "requestId"}
    return Refused(error["code"], error["message"], details)
