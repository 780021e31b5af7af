"""The outermost layer: nothing passes it unshaped, in or out.

In: the rules for header fields that hold for every operation (contract.md §1), a bound on requests in progress, the
request id. Out: a refusal becomes its error answer, any other exception 500 ``INTERNAL_ERROR``, logged once, without
secrets. A client that goes away is no error. What the HTTP parser of the server refuses before there is a request never
arrives here; ``README.md`` lists it.
"""

from __future__ import annotations

import itertools
import logging
import re
import traceback
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from typing import Any, Final, Protocol

from identity_core.api.errors import error_answer
from identity_core.api.request import Answer, Request
from identity_core.api.transport import ClientGone, Receive, Scope, Send, deliver
from identity_core.domain.errors import (
    HeadersTooLarge,
    IdentityError,
    InternalError,
    InvalidRequest,
    Overloaded,
)

MAX_HEADER_OCTETS: Final = 32 * 1024
MAX_HEADERS: Final = 100
MAX_TARGET_OCTETS: Final = 8 * 1024

# The header fields that the service reads. Others pass unread, whatever they hold.
READ: Final = {
    name.encode("ascii"): name
    for name in (
        "accept",
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "traceparent",
        "transfer-encoding",
        "x-api-key",
        "x-forwarded-for",
        "x-request-id",
    )
}

# Two of these that differ leave it open which one is meant. Two credentials are the gate's to judge.
SINGLE: Final = ("host", "content-type", "content-length", "content-encoding", "idempotency-key")

_LENGTH = re.compile(r"[0-9]{1,15}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Runs that may be key material, in an exception's message: base64, base58, hex, multibase, a DID.
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/_=.:%-]{24,}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

log = logging.getLogger("identity.api")


class Observe(Protocol):
    """Takes note of one answered request: operation (empty for none), status and seconds."""

    def __call__(self, operation_id: str, status: int, seconds: float) -> None:
        """Must not raise."""
        ...


class Guard:
    """An ASGI application around ``app``.

    ``limit`` bounds the requests that are worked on, ``exempt`` are the raw paths that the bound does not count: health and
    readiness must answer when all else is busy. ``identify`` gives the id of a request that brings none.
    """

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Any],
        *,
        observe: Observe,
        identify: Callable[[], str],
        limit: int,
        exempt: frozenset[bytes],
        monotonic: Callable[[], float],
    ) -> None:
        self.app = app
        self._observe = observe
        self._identify = identify
        self._limit = limit
        self._exempt = exempt
        self._monotonic = monotonic
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, whatever happens."""
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        request = Request(method=scope["method"], raw_path=scope["raw_path"], arrived=self._monotonic())
        self._in_progress += 1
        try:
            admit_headers(request, scope, self._identify)
            if self._in_progress > self._limit and request.raw_path not in self._exempt:
                raise Overloaded(details={"retryAfter": 1})
            scope["identity.request"] = request
            await self.app(scope, partial(self._patiently, receive), send)
        except ClientGone:
            return
        except IdentityError as error:
            await self._refuse(request, error, send)
        except Exception as error:  # noqa: BLE001 - this is the edge
            await self._fail(request, error, send)
        finally:
            self._in_progress -= 1
            if request.status is not None:
                self._observe(request.operation_id, request.status, self._monotonic() - request.arrived)

    async def _patiently(self, receive: Receive) -> MutableMapping[str, Any]:
        """What the client sends. A request that waits for its client is no work: a thousand slow clients must not make
        the service refuse the quick ones."""
        self._in_progress -= 1
        try:
            return await receive()
        finally:
            self._in_progress += 1

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        await self.app(scope, receive, send)

    async def _refuse(self, request: Request, error: IdentityError, send: Send) -> None:
        answer = error_answer(error, request.request_id, request.operation)
        # 501 says what this installation leaves out: whoever asks for it is refused, and nothing is broken.
        if answer.status >= 500 and answer.status != 501:
            log.error("%s %s: %s", request.operation_id or "-", error.code, _story(error), extra=_about(request))
        await self._answer(request, answer, send)

    async def _fail(self, request: Request, error: Exception, send: Send) -> None:
        log.error("%s failed: %s", request.operation_id or "-", _story(error), extra=_about(request))
        await self._answer(request, error_answer(InternalError(), request.request_id), send)

    async def _answer(self, request: Request, answer: Answer, send: Send) -> None:
        if request.status is not None:
            # The head is on its way with another status; a broken connection is the only honest end.
            raise ConnectionAbortedError("the answer failed half-way")
        await deliver(answer, request, send)


def request_ids(prefix: str) -> Callable[[], str]:
    """Ids ``<prefix>-<count>``: unique while the prefix is unique to the process."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count):x}"


def admit_headers(request: Request, scope: Scope, identify: Callable[[], str]) -> None:
    """Fills ``request`` from the scope's header fields and refuses what breaks a rule.

    Raises ``HeadersTooLarge`` and ``InvalidRequest``.
    """
    raw = scope["headers"]
    fields: dict[str, str] = {}
    size = 0
    not_ascii = None
    for octets, value in raw:
        size += len(octets) + len(value)
        name = READ.get(octets)
        if name is None:
            continue
        if not value.isascii():
            not_ascii = name
            continue
        if name in fields:
            _repeat(request, fields, name, value.decode("ascii"))
        else:
            fields[name] = value.decode("ascii")
    request.headers = fields
    given = fields.get("x-request-id")
    request.request_id = given if given is not None and _REQUEST_ID.fullmatch(given) else identify()
    client = scope.get("client")
    request.client_address = client[0] if client else ""
    if size > MAX_HEADER_OCTETS or len(raw) > MAX_HEADERS:
        raise HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS})
    if not_ascii is not None:
        raise InvalidRequest("A header holds characters outside ASCII.", details={"header": not_ascii})
    if scope["http_version"] == "0.9":
        raise InvalidRequest("Requests are HTTP/1.0 or later.")
    if not fields.get("host"):
        raise InvalidRequest("The Host header is missing.", details={"header": "host"})
    if request.repeated:
        _refuse_ambiguity(request)
    if "content-length" in fields and not _LENGTH.fullmatch(request.headers["content-length"]):
        raise InvalidRequest("Content-Length is not a length.", details={"header": "content-length"})
    if len(request.raw_path) + len(scope["query_string"]) > MAX_TARGET_OCTETS:
        raise InvalidRequest("The request target is too long.", details={"maxBytes": MAX_TARGET_OCTETS})


def _repeat(request: Request, fields: dict[str, str], name: str, value: str) -> None:
    repeated = dict(request.repeated)
    repeated[name] = [*repeated.get(name, (fields[name],)), value]
    request.repeated = repeated
    fields[name] = f"{fields[name]}, {value}"


def _refuse_ambiguity(request: Request) -> None:
    """Refuses differing repetitions of the headers in ``SINGLE``; equal ones count once."""
    fields = dict(request.headers)
    for name in SINGLE:
        values = request.repeated.get(name)
        if values is None:
            continue
        if len(set(values)) > 1:
            raise InvalidRequest("A header appears twice with different values.", details={"header": name})
        fields[name] = values[0]
    request.headers = fields


def _about(request: Request) -> dict[str, str]:
    return {"request_id": request.request_id, "operation": request.operation_id}


def _story(error: BaseException) -> str:
    """Where and why, as one line a frame, oldest cause first.

    Messages are cut and long tokens in them masked: a library may have put a key into its exception.
    """
    return "\n".join(_chain(error))


def _chain(error: BaseException) -> Iterator[str]:
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _chain(earlier)
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} {frame.name}"
    message = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(error)[:400])
    yield f"{type(error).__module__}.{type(error).__qualname__}: {_LONG_TOKEN.sub('[…]', message)}"
