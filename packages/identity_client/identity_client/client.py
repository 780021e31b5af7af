"""Every operation of the document by its operationId: signed if a signer is named, repeated if that has no other effect, page after page.
No answer is trusted: each has a size, a deadline and the requested media type, and no redirect is followed.
"""

from __future__ import annotations

import contextlib
import functools
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import orjson
from msgspec import Struct, field

from identity_client.answers import (
    Body,
    IdentityError,
    ServiceUnreachable,
    UnreadableAnswer,
    read_stream,
    read_whole,
    refusal_of,
)
from identity_client.challenge import hash_body
from identity_client.did_auth import Signer
from identity_client.ibct import operation_of, proof_request
from identity_client.operations import ServedOperation, by_place, place_of, served_operations
from identity_client.session import PREFIX, create_strictly, finished
from identity_client.verification import Expectation, members_of, proof_members
from identity_codec import jcs
from identity_codec.values import Hidden, replace

if TYPE_CHECKING:
    # Its import takes longer than that of everything else.
    import httpx

R = TypeVar("R")
_PASSING: Final = frozenset({502, 503, 504})
_FIRST_WAIT_SECONDS: Final = 0.25


class CallLimits(Struct, frozen=True):
    """How often an operation is tried again, how long an attempt and a wait before one may last (seconds), the longest answer (bytes),
    and how many pages are asked for."""

    retries: int = 2
    timeout_seconds: float = 30.0
    max_wait_seconds: float = 60.0
    max_answer_octets: int = 16 * 1024 * 1024
    max_pages: int = 10_000


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


class BaseClient(Hidden, Struct, Generic[R], frozen=True):
    """The jobs of ``Client`` and ``AsyncClient``. Each makes its requests by ``_send``, and returns the answers by ``_finish``."""

    url: str
    api_key: str | None = None
    origin: str | None = None
    limits: CallLimits = CallLimits()
    signer: Signer | None = None
    wait: Callable[[float], Any] = time.sleep
    on_request: Callable[[httpx.Request], None] | None = None
    on_response: Callable[[httpx.Response], None] | None = None
    http: Any = None

    def _finish(self, steps: Coroutine[Any, Any, Any]) -> R:
        raise NotImplementedError

    async def _send(self, request: httpx.Request, ends: float) -> tuple[httpx.Response, bytes]:
        raise NotImplementedError

    def _body(self, answer: httpx.Response, ends: float) -> Body:
        """Return the empty body of an answer that is then read, after ``on_response``."""
        if self.on_response is not None:
            self.on_response(answer)
        return Body(answer, self.limits.max_answer_octets, ends)

    def as_(self, signer: Signer) -> Self:
        """Return a client for this service over the same connections, which signs the operations of a DID with ``signer``."""
        return replace(self, signer=signer)

    def call(self, operation_id: str, body: Any = None, **parameters: Any) -> R:
        """Return the answer: parsed JSON, text, bytes, or None where there is none. ``parameters`` are those of path, query and
        header in snake case: ``did``, ``version_id``, ``if_match``. Raises ``KeyError`` for an operation that there is not,
        ``TypeError`` for such a parameter. createDid asks for ``strictEvidence`` as ``session.create_strictly`` does."""
        send = functools.partial(self._called, operation_id, **parameters)
        return self._finish(create_strictly(body, send) if operation_id == "createDid" else send(body))

    def issue_credential(self, **members: Any) -> R:
        """issueCredential, with the members of the body in snake case: ``issuer_did``, ``holder_did``, ``schema_id``, ``attributes``."""
        return self.call("issueCredential", members_of(members))

    def delegate(self, signer: Signer, **members: Any) -> R:
        """createDelegation by the holder ``signer``, with the other members in snake case: ``agent_did``, ``actions``, ``expires_at``,
        ``autonomy_level``."""
        return self.as_(signer).call("createDelegation", {"holderDid": signer.did} | members_of(members))

    def prove(self, signer: Signer, token: Mapping[str, str], credential_id: str, **members: Any) -> R:
        """Request the proof that a token allows its agent ``signer``. ``members`` as for ``ibct.proof_request`` in snake case:
        ``challenge``, ``domain``, and ``value`` or ``values`` if the token does not pin them."""
        body = proof_request(token, credential_id, **members_of(members))
        return self.as_(signer).call(operation_of(body), body)

    def verify(self, proof: Any, *, expect: Expectation) -> R:
        """verifyProof for a ``ZKProof``, an answer that contains one, or its text. ``identity_client.verify`` needs no service. Raises
        ``ValueError``: when ``expect`` leaves out what a verifier must compare."""
        return self.call("verifyProof", proof_members(proof) | expect.members())

    async def _called(self, operation_id: str, body: Any, /, **parameters: Any) -> Any:
        operation = served_operations()[operation_id]
        values = by_place(operation, parameters)
        data = None if body is None else jcs.canonicalize(body)
        headers = {"Accept": operation.accept, "Accept-Encoding": "identity"}
        headers |= {name: str(values[name]) for name in operation.headers if name in values}
        if operation.idempotent:
            headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        if data is not None:
            headers["Content-Type"] = "application/json"
        attempt = 0
        while True:
            try:
                signed = headers | await self._authorization(operation, values, body)
                return await self._attempt(operation, values, signed, data)
            except IdentityError as error:
                pause = _pause(operation, error, attempt)
                if pause is None or attempt >= self.limits.retries or pause > self.limits.max_wait_seconds:
                    raise
            attempt += 1
            if (waited := self.wait(pause)) is not None:
                await waited

    async def _items(self, operation_id: str, **parameters: Any) -> AsyncIterator[Any]:
        """Yield the items of all pages, as ``Client.each`` does."""
        cursor = parameters.pop("cursor", None)
        for _ in range(self.limits.max_pages):
            page = await self._called(operation_id, None, cursor=cursor, **parameters)
            if not isinstance(page, dict) or not isinstance(page.get("items"), list):
                raise UnreadableAnswer(200, "the page has no items")
            for item in page["items"]:
                yield item
            following = page.get("nextCursor", "")
            if following is None:
                return
            if not isinstance(following, str) or following in ("", cursor):
                raise UnreadableAnswer(200, "the page does not lead to another")
            cursor = following
        raise UnreadableAnswer(200, f"the pages do not end after {self.limits.max_pages}")

    async def _authorization(self, operation: ServedOperation, values: Mapping[str, Any], body: Any) -> dict[str, str]:
        """Return the header for one attempt, because a challenge is valid only once."""
        if self.signer is None or operation.scheme is None or operation.purpose is None:
            return {"Authorization": f"ApiKey {self.api_key}"} if self.api_key and operation.keyed else {}
        import httpx

        path, query = place_of(operation, values)
        digest = None if body is None else hash_body(body)
        bound: dict[str, Any] = {"purpose": operation.purpose, "target": f"{path}?{httpx.QueryParams(query)}"}
        wanted = bound | {"did": self.signer.did, "named": "true"} | ({} if digest is None else {"bodyHash": digest})
        asking = served_operations()["getDidAuthChallenge"]
        answer = await self._attempt(asking, wanted, {"Accept": asking.accept, "Accept-Encoding": "identity"}, None)
        challenge = answer.get("challenge") if isinstance(answer, dict) else None
        if not isinstance(challenge, str):
            raise ValueError("the answer holds no challenge")
        sign = functools.partial(self.signer.header, challenge, digest=digest, named=True, **bound)
        return {"Authorization": sign(scheme=operation.scheme, origin=self.origin or self.url)}

    async def _attempt(
        self, operation: ServedOperation, values: Mapping[str, Any], headers: Mapping[str, str], body: bytes | None
    ) -> Any:
        path, query = place_of(operation, values)
        import httpx

        url, limit = f"{self.url.rstrip('/')}{PREFIX}{path}", self.limits.timeout_seconds
        ends = time.monotonic() + limit
        try:
            request = self.http.build_request(
                operation.method, url, params=query, headers=headers, content=body, timeout=limit
            )
            if self.on_request is not None:
                self.on_request(request)
            answer, data = await self._send(request, ends)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise ServiceUnreachable(f"{self.url} does not answer: {type(error).__name__} {error}") from error
        if not answer.is_success:
            raise refusal_of(answer, data)
        return None if answer.status_code == 204 else _meaning(operation, answer, data)


class Client(BaseClient[Any], frozen=True):
    """The service at ``url`` (without the prefix), called with ``api_key`` or as ``signer``; a context manager.

    ``origin`` is its ``public_url`` where it is called by another name: challenges of any other are not signed. ``on_request`` sees each
    request before it is sent, also requests for challenges and repeated ones, and may add headers; it contains the Authorization.
    ``on_response`` sees each response before its body is read. An exception of either ends the call.

    A call raises ``IdentityError`` with the code of the document, ``UNREADABLE`` or ``UNREACHABLE``, and ``ValueError`` for a
    challenge that is not what was asked for.
    """

    http: httpx.Client = field(default_factory=lambda: import_module("httpx").Client(trust_env=False))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.close()

    def each(self, operation_id: str, **parameters: Any) -> Iterator[Any]:
        """Yield the items of all pages, in their order. Raises ``UnreadableAnswer`` for pages that do not end within the limit."""
        items = self._items(operation_id, **parameters)
        with contextlib.suppress(StopAsyncIteration):
            while True:
                yield finished(items.__anext__())

    def _finish(self, steps: Coroutine[Any, Any, Any]) -> Any:
        return finished(steps)

    async def _send(self, request: httpx.Request, ends: float) -> tuple[httpx.Response, bytes]:
        with contextlib.closing(self.http.send(request, stream=True)) as answer:
            return answer, read_whole(self._body(answer, ends))


class AsyncClient(BaseClient[Coroutine[Any, Any, Any]], frozen=True):
    """``Client`` for asyncio: the same methods, each of which is awaited, and ``async for`` over ``each``. ``wait`` is awaited too."""

    wait: Callable[[float], Any] = _sleep
    http: httpx.AsyncClient = field(default_factory=lambda: import_module("httpx").AsyncClient(trust_env=False))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.http.aclose()

    each = BaseClient._items

    def _finish(self, steps: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        return steps

    async def _send(self, request: httpx.Request, ends: float) -> tuple[httpx.Response, bytes]:
        async with contextlib.aclosing(await self.http.send(request, stream=True)) as answer:
            return answer, await read_stream(self._body(answer, ends))


def _pause(operation: ServedOperation, error: IdentityError, attempt: int) -> float | None:
    """Return the seconds before the next attempt; None if there is none."""
    passing = error.status in _PASSING or error.code in ("UNREACHABLE", "REQUEST_IN_PROGRESS")
    if error.status != 429 and not (operation.is_repeatable and passing):
        return None
    if error.retry_after_seconds is not None:
        return error.retry_after_seconds
    return float(_FIRST_WAIT_SECONDS * 2**attempt * (1 + random.random()))  # noqa: S311  (no secret)


def _meaning(operation: ServedOperation, answer: httpx.Response, data: bytes) -> Any:
    media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in operation.forms:
        raise UnreadableAnswer(answer.status_code, f"the answer is {media or 'of no type'}, not {operation.accept}")
    if media == "application/octet-stream":
        return data
    try:
        return data.decode() if media.startswith("text/") else orjson.loads(data)
    except ValueError as error:
        raise UnreadableAnswer(answer.status_code, f"the answer is not a {media}: {error}") from error
