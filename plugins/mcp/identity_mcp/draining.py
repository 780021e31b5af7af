"""Streams on which every request that was read is answered before the end: standard input may end while a tool still runs."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from msgspec import Struct, field

DRAIN_SECONDS = 120.0
"""No call of a tool takes longer: two requests over HTTP, and two for a token."""

_Inner = TypeVar("_Inner")


class Unanswered(Struct):
    """Identifiers of requests that were read and have no answer yet."""

    identifiers: set[int | str] = field(default_factory=set)
    _empty: anyio.Event = field(default_factory=anyio.Event)

    def read(self, item: SessionMessage | Exception) -> None:
        """Note a request, or that the client wants no answer to one."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            self.identifiers.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self.answered((message.params or {}).get("requestId"))

    def answered(self, identifier: Any) -> None:
        """Note that a request has its answer."""
        self.identifiers.discard(identifier)
        if not self.identifiers:
            self._empty.set()
            self._empty = anyio.Event()

    async def wait(self, seconds: float) -> None:
        """Return when nothing is unanswered, at the latest after ``seconds``."""
        with anyio.move_on_after(seconds):
            while self.identifiers:
                await self._empty.wait()


class _Stream(Struct, Generic[_Inner]):
    inner: _Inner
    unanswered: Unanswered

    async def aclose(self) -> None:
        """Close the stream below."""
        inner: Any = self.inner
        await inner.aclose()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.aclose()


class DrainedInput(_Stream[Any]):
    """The messages of ``inner``, which end once each request has its answer or ``seconds`` have passed."""

    seconds: float = DRAIN_SECONDS

    @property
    def last_context(self) -> Any:
        """The context of who sent the last message."""
        return self.inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Raises ``anyio.EndOfStream``."""
        try:
            item: SessionMessage | Exception = await self.inner.receive()
        except anyio.EndOfStream:
            await self.unanswered.wait(self.seconds)
            raise
        self.unanswered.read(item)
        return item

    def __aiter__(self) -> DrainedInput:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class NotedOutput(_Stream[Any]):
    """Sends to ``inner``, and notes which requests are answered."""

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        await self.inner.send(item)
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self.unanswered.answered(item.message.id)
