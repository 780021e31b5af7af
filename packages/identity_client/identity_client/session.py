"""A small synchronous HTTP session on the service's own operations. It always binds challenges to purpose, target and body, and
names them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import orjson
from msgspec import Struct

from identity_client.answers import UNREADABLE as UNREADABLE
from identity_client.answers import Body as Body
from identity_client.answers import IdentityError as IdentityError
from identity_client.answers import ServiceError as ServiceError
from identity_client.answers import ServiceUnreachable as ServiceUnreachable
from identity_client.answers import UnreadableAnswer as UnreadableAnswer
from identity_client.answers import read_whole as read_whole
from identity_client.answers import refusal_of as refusal_of
from identity_client.challenge import DID_AUTH, RECOVERY_KEY, hash_body
from identity_client.did_auth import Signer
from identity_codec.deprecation import OldMember
from identity_codec.values import Hidden

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
PREFIX = "/api/v1"
_STRICT_EVIDENCE = "strictEvidence"
MOST_OCTETS: Final = 64 * 1024 * 1024
"""More than any answer of the service has."""
MOST_PAGES, WHOLE = 10_000, 10
"""Pages of a history, and the limit for a whole answer in multiples of the limit for each read."""


class Exchange(Hidden, Struct, frozen=True):
    """One request and its answer. ``sent`` and ``answer`` are parsed JSON, text for other media types, None for nothing;
    either may hold private keys."""

    method: str
    path: str
    sent: Any
    status: int
    answer: Any
    milliseconds: float


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
        import httpx

        self.url, self._on_exchange = url.rstrip("/"), on_exchange
        # Whose challenges are signed.
        self.origin = origin or self.url
        # Plain HTTP shows no certificate, and to read those that are trusted takes longer than a request.
        # Environment: certificates that are trusted (SSL_CERT_FILE), but no proxy.
        tls = False if self.url.startswith("http://") else httpx.create_ssl_context()
        plain, self._timeout = {"Accept-Encoding": "identity"}, timeout_seconds
        self._http = httpx.Client(
            headers=plain, base_url=self.url, timeout=timeout_seconds, trust_env=False, verify=tls
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
        is_text: bool = False,
    ) -> Any:
        """Return the parsed object of the answer, None for 204, or the text of one that ``is_text``. Raises ``ServiceError`` or
        ``ServiceUnreachable``."""
        sent = dict(headers or {})
        if self._authorization and signed_in and "Authorization" not in sent:
            sent["Authorization"] = self._authorization
        content = None if body is None else orjson.dumps(body)
        sent |= {} if body is None else {"Content-Type": "application/json"}
        params = {name: value for name, value in (query or {}).items() if value is not None}
        started = perf_counter()
        answer = self._request(method, path, content=content, params=params, headers=sent)
        milliseconds = (perf_counter() - started) * 1000
        value = _value(answer)
        if self._on_exchange is not None:
            asked = answer.request.url.raw_path.decode("ascii", "replace")
            self._on_exchange(Exchange(method, asked, body, answer.status_code, value, milliseconds))
        if not answer.is_success:
            raise refusal_of(answer, answer.content)
        if not (isinstance(value, str if is_text else dict) or answer.status_code == 204):
            raise UnreadableAnswer(answer.status_code, "the answer is not what the operation returns")
        return value

    def get_bytes(self, path: str, *, query: Mapping[str, Any] | None = None, accept: str = "*/*") -> bytes:
        """Return the body of a GET as it is. Raises ``ServiceError`` or ``ServiceUnreachable``."""
        answer = self._request("GET", path, content=None, params=dict(query or {}), headers={"Accept": accept})
        if answer.is_success:
            return answer.content
        raise refusal_of(answer, answer.content)

    octets = OldMember("get_bytes")

    def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        import httpx

        try:
            with self._http.stream(method, PREFIX + path, **more) as answer:
                data = read_whole(Body(answer, MOST_OCTETS, monotonic() + WHOLE * self._timeout))
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
        import httpx

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

        async def send(asked: Any) -> Any:
            return self.call("POST", "/dids", body=asked, headers=headers)

        return finished(create_strictly(body, send))

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
        for _ in range(MOST_PAGES):
            page = self.history(did, limit=200, cursor=cursor)
            yield from page["items"]
            if (cursor := page["nextCursor"]) is None:
                return
        raise UnreadableAnswer(200, f"the pages do not end after {MOST_PAGES}")

    def log(self, did: str) -> str:
        """getDidLog, as text of JSON lines."""
        return str(self.call("GET", f"{_place(did)}/log", signed_in=False, is_text=True))


def finished(steps: Awaitable[T]) -> T:
    """Return the result of a coroutine that is never suspended. It is how synchronous and asynchronous callers share code."""
    try:
        next(steps.__await__())
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("the coroutine was suspended")


async def create_strictly(body: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """Send a request of createDid with ``options.strictEvidence``, and as it is to a method whose entries hold no evidence. A request that
    has the member, or that is malformed, is sent once."""
    options = body.get("options", {}) if isinstance(body, Mapping) else None
    if isinstance(options, Mapping) and _STRICT_EVIDENCE not in options:
        try:
            return await send({**body, "options": {**options, _STRICT_EVIDENCE: True}})
        except ServiceError as error:
            # The Idempotency-Key is that of an earlier try, which such a method answered.
            if error.details.get("member") != _STRICT_EVIDENCE and error.code != "IDEMPOTENCY_MISMATCH":
                raise
    return await send(body)


def _place(did: str) -> str:
    return f"/dids/{quote(did, safe='')}"


def _value(answer: httpx.Response) -> Any:
    """Return the parsed body; text that is not valid JSON, unchanged. Text is UTF-8: the service names no other, and a slow codec of
    another service would be used."""
    is_json = "json" in answer.headers.get("content-type", "").replace("jsonl", "")
    text = answer.content.decode(errors="replace")
    try:
        return orjson.loads(answer.content) if is_json and answer.content else text or None
    except ValueError:
        return text
