"""The port of traces: spans of requests, and in them the calls of plugins. An extension provides it (``Extension.tracing``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Tracing(Protocol):
    """Makes the spans of one process."""

    def application(self, app: Any) -> Any:
        """Return the ASGI application ``app`` with a span around each request. Its ``shapes`` are those of ``app``."""

    def call(self, function: Callable[..., Awaitable[Any]], plugin: str, member: str) -> Callable[..., Awaitable[Any]]:
        """Return the coroutine function of a plugin's member with a span for each call within a request."""

    def close(self) -> None:
        """Send what has not been sent. May block."""
