"""A span around each request, for an application whose settings want traces. Without them nothing of this is in the way of a request."""

from __future__ import annotations

from collections.abc import Mapping

from identity_core.api.guard import Guard
from identity_core.api.request import Operation
from identity_core.api.request_log import METHODS
from identity_core.api.transport import Message, Receive, Scope, Send
from identity_core.tracing import Tracing
from identity_core.values import value_class


@value_class
class TracedApplication:
    """The application within a span for each request."""

    app: Guard
    tracing: Tracing

    @property
    def shapes(self) -> Mapping[bytes, Operation]:
        """The ``shapes`` of the application."""
        return self.app.shapes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with self.tracing.request(scope["method"] if scope["method"] in METHODS else "-") as span:
            await self.app(scope, receive, watched)
            request = scope.get("identity.request")
            operation, code = ("", "") if request is None else (request.operation_id or "", request.refusal or "")
            span.answered(operation, status, code)
