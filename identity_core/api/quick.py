"""Answers that need no task: given while a request is parsed, from what is remembered or by reading what is there without waiting."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from identity_core.api.cross_origin import Origins
from identity_core.api.decode import Parse, Query
from identity_core.api.request import Admission, Answer, Handler, Operation, Request
from identity_core.api.transport import Scope
from identity_core.codec.structs import encode
from identity_core.errors import IdentityError, PluginUnavailable
from identity_core.values import value_class

T = TypeVar("T")

AtOnce = Callable[[Request, Callable[[], bool]], Answer | None]
"""Answers a GET without a query from what is remembered, or None. The function says whether the request could be paid, or raises
``RateLimited``; it is called when there is an answer."""
ReadAtOnce = Callable[[Request], Coroutine[Any, Any, Answer | None]]
"""Answers a GET from what is stored, and gives None for the rest. Of what is embedded it never waits."""


class Reads(NamedTuple):
    """By operationId: what reads while a request is parsed, because it never waits, and what reads before the handler is asked."""

    at_once: Mapping[str, ReadAtOnce] = {}
    first: Mapping[str, ReadAtOnce] = {}


# Who brings a credential is asked for, and a body is refused: not at once.
NOT_QUICK: Final = frozenset({"authorization", "x-api-key", "content-length", "transfer-encoding"})


@value_class
class Quick:
    """A public GET that may be answered at once: from what is remembered, or by reading, which the parameters are for."""

    operation: Operation
    gate: Admission
    origins: Origins
    remembered: AtOnce | None
    read: ReadAtOnce | None
    path_parsers: Sequence[tuple[str, Parse]]
    query: Query

    def __call__(self, request: Request, scope: Scope) -> Answer | None:
        """The answer, paid, to a request without credential and body; None where there is none. Raises refusals; those that are answers
        are ``paid``."""
        if not NOT_QUICK.isdisjoint(request.headers):
            return None
        operation, asked = self.operation, scope["query_string"]
        request.operation, request.operation_id = operation, operation.operation_id
        request.cross_origin = self.origins.headers(request)
        pays = partial(self.gate.pays_at_once, operation, request)
        if self.remembered is not None and not asked:
            answer = self.remembered(request, pays)
            if answer is not None:
                return answer
        if self.read is None:
            self.gate.look_at_once(operation, request)
            return None
        # Who cannot pay has nothing read. What was paid, and takes the long way after all, is not paid again (``Request.paid``).
        return self._read(self.read, request, asked) if pays() else None

    def _read(self, read: ReadAtOnce, request: Request, asked: bytes) -> Answer | None:
        try:
            for name, parse in self.path_parsers:
                parse(request.path[name])
            request.query = self.query.parse(asked)
            answer = stepped(read(request))
        except IdentityError as error:
            if error.status < 500:
                raise
            # The pass of all meets it again, and tells of it.
            return None
        if answer is not None and type(answer.body) is not bytes:
            answer.body = encode(answer.body)
        return answer


def reading_first(read: ReadAtOnce, handler: Handler) -> Handler:
    """``read`` where it gives an answer, else ``handler``."""

    async def handle(request: Request) -> Answer:
        try:
            answer = await read(request)
        except PluginUnavailable:
            # The handler would wait once more for what has not answered.
            raise
        except IdentityError:
            # The handler meets it again, and tells of it.
            answer = None
        return await handler(request) if answer is None else answer

    return handle


def stepped(coroutine: Coroutine[Any, Any, T]) -> T | None:
    """The result of a coroutine that does not wait; None for one that would, which is closed."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    return None
