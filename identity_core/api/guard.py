"""The outermost layer, which checks every request and formats every answer.

Requests: the rules of ``transport.py``, a maximum of requests in progress, the request id. Answers: a refusal becomes
its error answer. Any other exception becomes 500 ``INTERNAL_ERROR`` and is logged once, without secrets. A client
that disconnects is not an error. If no bucket was charged for a refusal, it is charged here. Only the refusal of an
overloaded server is free, because charging would add to the load.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from identity_core.api.errors import early_operation, error_answer
from identity_core.api.request import Answer, Operation, Request
from identity_core.api.transport import ClientGone, Message, Receive, Scope, Send, admit_headers, deliver
from identity_core.errors import IdentityError, InternalError, Overloaded
from identity_core.ports.did_method import CLIENT

# Runs of characters in an exception's message that may be key material: base64, base58, hex, multibase, a DID.
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/_=.:%-]{24,}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

log = logging.getLogger("identity.api")


Observe = Callable[[Request, float], None]
"""Observer of one answered request, which has a status, and of its duration in seconds. Must not raise."""


class Guard(Struct, eq=False):
    """An ASGI application around ``app``.

    ``limit``: the maximum of requests in progress. ``exempt``: the raw paths that the limit does not count, because
    health and readiness must answer under any load.
    ``shapes``: operations whose refusals have their own form, by the start of their raw paths. A refusal of the path
    or of the header fields comes before the operation is known.
    ``identify``: makes the id of a request without one. ``charge``: takes a token of the address's bucket, or raises
    the error to answer.
    """

    app: Callable[[Scope, Receive, Send], Any]
    observe: Observe
    identify: Callable[[], str]
    charge: Callable[[Request], Awaitable[None]]
    limit: int
    exempt: frozenset[bytes]
    shapes: Mapping[bytes, Operation]
    monotonic: Callable[[], float]
    _in_progress: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, also after any error."""
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        request = Request(method=scope["method"], raw_path=scope["raw_path"], arrived=self.monotonic())
        client = scope.get("client")
        request.client_address = client[0] if client else ""
        CLIENT.set(request.client_address)
        send = self._sending(receive, send)
        self._in_progress += 1
        try:
            admit_headers(request, scope, self.identify)
            if self._in_progress > self.limit and request.raw_path not in self.exempt:
                raise Overloaded(details={"retryAfter": 1})
            scope["identity.request"] = request
            await self.app(scope, partial(self._receive, receive), send)
        except ClientGone:
            return
        except IdentityError as error:
            await self._refuse(request, error, send)
        except Exception as error:  # noqa: BLE001 - this is the edge
            await self._fail(request, error, send)
        finally:
            self._in_progress -= 1
            if request.status is not None:
                self.observe(request, self.monotonic() - request.arrived)

    async def _receive(self, receive: Receive) -> Message:
        """Await the client. Meanwhile the request does not count as in progress, so that slow clients do not make the
        service refuse others."""
        self._in_progress -= 1
        try:
            return await receive()
        finally:
            self._in_progress += 1

    def _sending(self, receive: Receive, send: Send) -> Send:
        """Return a ``send`` that does not count the request as in progress while the client does not read. If the
        client has disconnected, it raises ``ClientGone`` instead of sending another part of an answer."""
        gone: asyncio.Future[bool] | None = None

        async def send_message(message: Message) -> None:
            nonlocal gone
            self._in_progress -= 1
            try:
                await send(message)
            finally:
                self._in_progress += 1
            if message.get("more_body"):
                gone = gone or asyncio.ensure_future(_has_disconnected(receive))
                # If parts are made and sent without awaiting, a disconnection would never be noticed.
                await asyncio.sleep(0)
                if gone.done() and gone.result():
                    raise ClientGone

        return send_message

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        await self.app(scope, receive, send)

    async def _refuse(self, request: Request, error: IdentityError, send: Send) -> None:
        if not request.paid and not isinstance(error, Overloaded):
            try:
                await self.charge(request)
            except IdentityError as empty:
                error = empty
        request.refusal = error.code
        shape = request.operation or early_operation(self.shapes, request.raw_path)
        answer = error_answer(error, request.request_id, shape, has_bearer=request.has_bearer)
        # A 501 means that this installation lacks the feature. Any such request is refused, and nothing is broken.
        if answer.status >= 500 and answer.status != 501:
            # Any client can cause an overload, so its line is short.
            story = str(error) if isinstance(error, Overloaded) else _story(error)
            log.error("%s %s: %s", request.operation_id or "-", error.code, story, extra=_about(request, error))
        await self._answer(request, answer, send)
        _forget_frames(error)

    async def _fail(self, request: Request, error: Exception, send: Send) -> None:
        request.refusal = InternalError.code
        log.error("%s failed: %s", request.operation_id or "-", _story(error), extra=_about(request, error))
        await self._answer(request, error_answer(InternalError(), request.request_id, request.operation), send)

    async def _answer(self, request: Request, answer: Answer, send: Send) -> None:
        if request.status is not None:
            # The head was sent with another status, so the connection must break.
            raise ConnectionAbortedError("the answer failed half-way")
        await deliver(answer, request, send)


async def _has_disconnected(receive: Receive) -> bool:
    """Await the end of a connection whose request is complete."""
    message = await receive()
    if message["type"] == "http.request":
        message = await receive()
    return bool(message["type"] == "http.disconnect")


def _forget_frames(error: IdentityError) -> None:
    """Release the frames that led to a refusal at once. A frame may reference the refusal that references the frame,
    and a flood of such cycles keeps the garbage collector busy."""
    known: BaseException | None = error
    while known is not None:
        known.__traceback__ = None
        known = known.__context__


def request_ids(prefix: str) -> Callable[[], str]:
    """Return a function that makes ids ``<prefix>-<count>``, which are unique while the prefix is unique to the
    process."""
    count = itertools.count(1)
    return lambda: f"{prefix}-{next(count):x}"


def _about(request: Request, error: BaseException) -> dict[str, object]:
    """Return the members of a log line beside its text. For two errors with the same ``story``, one of them is
    enough."""
    places = tuple(
        (type(each), *((frame.f_code, line) for frame, line in traceback.walk_tb(each.__traceback__)))
        for each in _causes(error)
    )
    fields = {"requestId": request.request_id, "operation": request.operation_id or "-"}
    return {"fields": fields, "story": (request.operation_id, places)}


def _story(error: BaseException) -> str:
    """Return causes and places as one line a frame, oldest cause first.

    Messages are cut and long tokens in them masked: a library may have put a key into its exception.
    """
    return "\n".join(line for each in _causes(error) for line in _format_error(each))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, the oldest first."""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _causes(earlier)
    yield error


def _format_error(error: BaseException) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} {frame.name}"
    message = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(getattr(error, "reason", error))[:400])
    yield f"{type(error).__module__}.{type(error).__qualname__}: {_LONG_TOKEN.sub('[…]', message)}"
