"""Spans of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/trace/api/): a request, and in it the calls of plugins: ledger,
custodian, prover.

A span has the attributes that the methods here take, and no others: names from the OpenAPI document, from ports and from installed
plugins, an HTTP method, a status, an error code. No target, no DID, no value, no request id (a client may choose that one), no message or
traceback of an exception. A trace that a client names is not continued: a stranger must not decide what is kept. The libraries (extra
``otel``) are imported by ``open_tracing`` and what it makes alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import util
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from identity_core import __version__
from identity_core.api.access_log import METHODS
from identity_core.api.guard import Guard
from identity_core.api.request import Operation
from identity_core.api.transport import Message, Receive, Scope, Send
from identity_core.files import install_command
from identity_core.settings import Settings, SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Span, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

SERVICE: Final = "identity-service"
DEADLINE_SECONDS: Final = 2
"""For one batch to the collector. What it does not take is dropped; no request waits for it."""


class RequestSpan(Struct, frozen=True):
    """The span of a request that is being answered."""

    _span: Span

    def answered(self, operation: str, status: int, code: str) -> None:
        """``operation`` is empty for what the document does not have, ``code`` for what was not refused."""
        self._span.update_name(operation or "-")
        self._span.set_attribute("identity.operation", operation or "-")
        self._span.set_attribute("http.response.status_code", status)
        if code:
            self._span.set_attribute("error.type", code)


class Tracing(Struct, frozen=True):
    """Makes the spans of one process."""

    provider: TracerProvider

    @contextlib.contextmanager
    def request(self, method: str) -> Iterator[RequestSpan]:
        """Yield a trace of its own. ``method`` is one of HTTP's, or ``-``."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind

        tracer = self.provider.get_tracer(SERVICE, __version__)
        attributes = {"http.request.method": method}
        with tracer.start_as_current_span(
            "-", Context(), SpanKind.SERVER, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield RequestSpan(span)  # type: ignore[arg-type]

    def call(self, function: Callable[..., Awaitable[Any]], plugin: str, member: str) -> Callable[..., Awaitable[Any]]:
        """Return the coroutine function of a plugin's member, with a span for each call within a request; what the service does by
        itself has none. A span that ended in an error names its class."""
        from opentelemetry.trace import get_current_span

        tracer = self.provider.get_tracer(SERVICE, __version__)
        name, attributes = f"{plugin} {member}", {"identity.plugin": plugin, "identity.member": member}

        async def traced(*args: Any, **kwargs: Any) -> Any:
            if not get_current_span().is_recording():
                return await function(*args, **kwargs)
            with tracer.start_as_current_span(
                name, attributes=attributes, record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    return await function(*args, **kwargs)
                except BaseException as error:
                    span.set_attribute("error.type", type(error).__name__)
                    raise

        return traced

    def application(self, app: Guard) -> TracedApplication:
        return TracedApplication(app, self)

    def close(self) -> None:
        self.provider.shutdown()


class TracedApplication(Struct, frozen=True):
    """The application within a span for each request."""

    app: Guard
    tracing: Tracing

    @property
    def shapes(self) -> Mapping[bytes, Operation]:
        """Return the ``shapes`` of the application."""
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


def require_libraries(settings: Settings) -> None:
    """Raise ``SettingsError``: when a library of the extra ``otel`` is not installed."""
    for module in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            found = util.find_spec(module)
        except ModuleNotFoundError:
            # A package above it.
            found = None
        if found is None:
            what = f"tracing.endpoint needs the library {module}, which is not installed."
            where = f"{settings.origin('tracing.endpoint')} (tracing.endpoint)"
            raise SettingsError(what, where, install_command("identity-observability[otel]"))


def open_tracing(endpoint: str, share: float, exporter: Callable[[str], SpanExporter] | None = None) -> Tracing:
    """Send ``share`` (0 to 1) of the traces to ``endpoint``, a URL of OTLP over HTTP, in the background. ``exporter`` makes what
    sends them. Raises ``ImportError`` without the extra."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    # Not what the process's environment would add: names of users and machines.
    resource = Resource({"service.name": SERVICE, "service.version": __version__})
    provider = TracerProvider(ParentBased(TraceIdRatioBased(share)), resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor((exporter or _over_http)(endpoint)))
    return Tracing(provider)


def _over_http(endpoint: str) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint, timeout=DEADLINE_SECONDS)
