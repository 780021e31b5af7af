"""A small synchronous HTTP session on the service's own operations. It always binds challenges to purpose, target and body, and
names them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from time import monotonic, perf_counter
from typing import Any, Final
from urllib.parse import quote

import httpx
import orjson
from msgspec import Struct

from identity_client.challenge import DID_AUTH, RECOVERY_KEY, hash_body
from identity_client.did_auth import Signer
from identity_codec.deprecation import OldMember
from identity_codec.values import Hidden

PREFIX = "/api/v1"
_STRICT_EVIDENCE = "strictEvidence"
_SECONDS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
UNREADABLE: Final = "UNREADABLE"
"""The ``code`` of an answer that is not one of the service."""
MOST_OCTETS: Final = 64 * 1024 * 1024
"""More than any answer of the service has."""


class Exchange(Hidden, Struct, frozen=True):
    """One request and its answer. ``sent`` and ``answer`` are parsed JSON, text for other media types, None for nothing;
    either may hold private keys."""

    method: str
    path: str
    sent: Any
    status: int
    answer: Any
    milliseconds: float


class IdentityError(Exception):
    """The service refused a request, does not answer or answers unreadably. ``code`` and ``details`` are as in the Error shape;
    ``retry_after_seconds`` is the wait that the service requires."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.retry_after_seconds: float | None = None

    def __str__(self) -> str:
        """Return the error on one line, with the details and the remedy of the answer."""
        details = {name: value for name, value in self.details.items() if name != "remedy"}
        shown = f" {orjson.dumps(details, default=str).decode()}" if details else ""
        return " ".join(f"{super().__str__()}{shown} {self.remedy}".split())

    @property
    def remedy(self) -> str:
        """Remedy of the refusal, from ``details.remedy``; empty if the service gave none."""
        return str(self.details.get("remedy", ""))


class ServiceError(IdentityError):
    """The service answered with an error."""


class UnreadableAnswer(ServiceError):
    """Answer that does not come from the service, or breaks its document."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(status, UNREADABLE, why, {})


class ServiceUnreachable(IdentityError):
    """The URL does not answer."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "UNREACHABLE", message, {})
        self.args = (message,)


def read_whole(answer: httpx.Response, most: int, *, ends: float = math.inf) -> bytes:
    """Return the body of a streamed answer. Raises ``UnreadableAnswer`` for one that is compressed, because a small one can unpack to any
    size, or has more than ``most`` bytes; ``ServiceUnreachable`` at the monotonic time ``ends``."""
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableAnswer(answer.status_code, "the answer is compressed")
    data = bytearray()
    for part in answer.iter_raw():
        data += part
        if len(data) > most:
            raise UnreadableAnswer(answer.status_code, f"the answer has more than {most} bytes")
        if monotonic() > ends:
            raise ServiceUnreachable(f"{answer.url} does not answer in time")
    return bytes(data)


class Session:
    """Calls the service at ``url`` (without the prefix), with ``api_key`` or an access ``token`` where an operation wants one;
    ``on_exchange`` is called with every request that was answered. ``origin`` is the service's own name where it is called by another
    (its ``public_url``): challenges of any other are not signed."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        token: str | None = None,
        timeout_seconds: float = 30.0,
        on_exchange: Callable[[Exchange], None] | None = None,
        origin: str | None = None,
    ) -> None:
        self.url, self._on_exchange = url.rstrip("/"), on_exchange
        # Whose challenges are signed.
        self.origin = origin or self.url
        # Plain HTTP shows no certificate, and to read those that are trusted takes longer than a request.
        # Environment: certificates that are trusted (SSL_CERT_FILE), but no proxy.
        verify = False if self.url.startswith("http://") else httpx.create_ssl_context()
        plain = {"Accept-Encoding": "identity"}
        self._http = httpx.Client(
            headers=plain, base_url=self.url, timeout=timeout_seconds, trust_env=False, verify=verify
        )
        self._authorization = f"ApiKey {api_key}" if api_key else f"Bearer {token}" if token else None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        signed_in: bool = True,
    ) -> Any:
        """Return the parsed answer (text for other media types). Raises ``ServiceError`` or ``ServiceUnreachable``."""
        sent = dict(headers or {})
        if self._authorization and signed_in and "Authorization" not in sent:
            sent["Authorization"] = self._authorization
        content = None if body is None else orjson.dumps(body)
        if content is not None:
            sent["Content-Type"] = "application/json"
        params = {name: value for name, value in (query or {}).items() if value is not None}
        started = perf_counter()
        answer = self._request(method, path, content=content, params=params, headers=sent)
        milliseconds = (perf_counter() - started) * 1000
        value = _value(answer)
        if self._on_exchange is not None:
            asked = answer.request.url.raw_path.decode("ascii", "replace")
            self._on_exchange(Exchange(method, asked, body, answer.status_code, value, milliseconds))
        if answer.status_code < 400:
            return value
        raise refusal_of(answer, answer.content)

    def get_bytes(self, path: str, *, query: Mapping[str, Any] | None = None, accept: str = "*/*") -> bytes:
        """Return the body of a GET as it is. Raises ``ServiceError`` or ``ServiceUnreachable``."""
        answer = self._request("GET", path, content=None, params=dict(query or {}), headers={"Accept": accept})
        if answer.status_code < 400:
            return answer.content
        raise refusal_of(answer, answer.content)

    octets = OldMember("get_bytes")

    def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            with self._http.stream(method, PREFIX + path, **more) as answer:
                data = read_whole(answer, MOST_OCTETS)
                same: Any = {"headers": answer.headers, "request": answer.request}
                return httpx.Response(answer.status_code, content=data, **same)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ServiceUnreachable(f"{self.url} does not answer: {error}") from error

    def signed(
        self,
        method: str,
        path: str,
        body: Any,
        signer: Signer,
        purpose: str,
        *,
        scheme: str = DID_AUTH,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """Make one call under DIDAuth or RecoveryKey: fetch a challenge for exactly this purpose, path, query and body (None: no
        body), sign it, and send the request. Raises ``ForeignOrigin`` for a challenge of another service."""
        digest = None if body is None else hash_body(body)
        params = {name: value for name, value in (query or {}).items() if value is not None}
        bound: Any = {"purpose": purpose, "digest": digest, "target": f"{path}?{httpx.QueryParams(params)}"}
        text = self.challenge(signer.did, named=True, **bound)["challenge"]
        header = signer.header(text, scheme=scheme, origin=self.origin, named=True, **bound)
        return self.call(method, path, body=body, query=query, headers={"Authorization": header})

    def challenge(self, did: str, *, digest: str | None = None, named: bool = False, **bound: str | None) -> Any:
        """Return a challenge for ``did``, bound to a ``purpose``, the ``digest`` of a body and a ``target`` where they are given.

        A challenge that the header will name (``named``) is given to no other client; a ``target`` needs that.
        """
        query = {"did": did, "bodyHash": digest, "named": named or None, **bound}
        return self.call("GET", "/auth/challenge", query=query, signed_in=False)

    def token(self, signer: Signer, *, scope: str | None = None) -> Any:
        """issueToken: an access token of the DID of ``signer``, narrowed to ``scope`` where one is given."""
        return self.signed("POST", "/auth/token", {} if scope is None else {"scope": scope}, signer, "token")

    def create(self, body: Any, *, idempotency_key: str | None = None) -> Any:
        """createDid, as ``create_strictly`` sends it; sent again with the same ``idempotency_key``, it gives the same DID."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return create_strictly(body, lambda asked: self.call("POST", "/dids", body=asked, headers=headers))

    def resolve(self, did: str, **query: Any) -> Any:
        """resolveDid."""
        return self.call("GET", _place(did), query=query, signed_in=False)

    def update(self, did: str, body: Any, signer: Signer) -> Any:
        """updateDid."""
        return self.signed("PATCH", _place(did), body, signer, "update")

    def deactivate(self, did: str, body: Any, signer: Signer) -> Any:
        """deactivateDid."""
        return self.signed("DELETE", _place(did), body, signer, "deactivate")

    def rotate(self, did: str, body: Any, signer: Signer) -> Any:
        """rotateDidKey."""
        return self.signed("POST", f"{_place(did)}/keys/rotate", body, signer, "rotate")

    def recover(self, did: str, body: Any, signer: Signer) -> Any:
        """recoverDid; ``signer`` holds the recovery key."""
        return self.signed("POST", f"{_place(did)}/recover", body, signer, "recover", scheme=RECOVERY_KEY)

    def history(self, did: str, **query: Any) -> Any:
        """listDidHistory."""
        return self.call("GET", f"{_place(did)}/history", query=query, signed_in=False)

    def whole_history(self, did: str) -> Iterator[Any]:
        """Yield the items of listDidHistory, page after page, oldest first."""
        cursor = None
        while True:
            page = self.history(did, limit=200, cursor=cursor)
            yield from page["items"]
            if (cursor := page["nextCursor"]) is None:
                return

    def log(self, did: str) -> str:
        """getDidLog, as text of JSON lines."""
        return str(self.call("GET", f"{_place(did)}/log", signed_in=False))


def create_strictly(body: Any, send: Callable[[Any], Any]) -> Any:
    """Send a request of createDid with ``options.strictEvidence``, and as it is to a method whose entries hold no evidence. A request that
    has the member, or that is malformed, is sent once."""
    options = body.get("options", {}) if isinstance(body, Mapping) else None
    if isinstance(options, Mapping) and _STRICT_EVIDENCE not in options:
        try:
            return send({**body, "options": {**options, _STRICT_EVIDENCE: True}})
        except ServiceError as error:
            # The Idempotency-Key is that of an earlier try, which such a method answered.
            if error.details.get("member") != _STRICT_EVIDENCE and error.code != "IDEMPOTENCY_MISMATCH":
                raise
    return send(body)


def _place(did: str) -> str:
    return f"/dids/{quote(did, safe='')}"


def _value(answer: httpx.Response) -> Any:
    """Return the parsed body; text that is not valid JSON, unchanged."""
    is_json = "json" in answer.headers.get("content-type", "").replace("jsonl", "")
    try:
        return orjson.loads(answer.content) if is_json and answer.content else answer.text or None
    except ValueError:
        return answer.text


def refusal_of(answer: httpx.Response, data: bytes) -> ServiceError:
    """Return the error of an answer; ``UnreadableAnswer`` when it has not the shape of one of the service."""
    said = answer.headers.get("retry-after", "")
    try:
        error = orjson.loads(data)["error"]
        code, message, details = error["code"], error["message"], error.get("details") or {}
        if not isinstance(code, str) or not isinstance(details, dict):
            raise TypeError("not the shape of an error")
        refused = ServiceError(answer.status_code, code, str(message), details)
    except (ValueError, KeyError, TypeError, AttributeError):
        # A proxy before the service, for example: its own words are all that there is.
        refused = UnreadableAnswer(answer.status_code, data[:200].decode("utf-8", "backslashreplace"))
    refused.retry_after_seconds = float(said) if _SECONDS.fullmatch(said) else None
    return refused
