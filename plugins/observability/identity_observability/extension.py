"""The extension ``observability``: its handler over what the kernel offers. Its libraries are imported when it is opened, because
commands that load plugins have no use for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

from identity_core import __version__
from identity_core.extension.declaration import Contribution, Extension, Kernel, RenderedMetrics
from identity_core.plugin import hookimpl
from identity_core.plugin.border import Tracing
from identity_core.settings import Settings
from identity_core.use_cases.service import Dependencies
from identity_observability.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_observability(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    from identity_observability.handlers import MetricsHandlers
    from identity_observability.kernel_gauges import kernel_gauges
    from identity_observability.metrics import Metrics, copy_repeatedly
    from identity_observability.process import build_info, disk_gauges, process_gauges

    shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    metrics = Metrics(kernel.gauges, shared=shared)
    build_info(metrics.registry, __version__, sys.version.split()[0])
    handlers = MetricsHandlers(kernel.need(Dependencies), metrics, kernel.settings.server.public_metrics)
    copying = None if shared is None else asyncio.create_task(copy_repeatedly(metrics.copy))
    try:
        yield Contribution(
            handlers=(handlers,),
            observers=(metrics.observe_request,),
            gauges=(*kernel_gauges(kernel), *process_gauges(), *disk_gauges(kernel.settings.data_dir)),
            services={RenderedMetrics: metrics},
        )
    finally:
        if copying is not None:
            copying.cancel()


def trace(settings: Settings) -> Tracing:
    """Return what sends the traces that the settings want. Raises ``SettingsError``: when a library is not installed."""
    from identity_observability.tracing import open_tracing, require_libraries

    endpoint = settings.tracing.endpoint
    assert endpoint is not None
    require_libraries(settings)
    return open_tracing(endpoint, settings.tracing.share)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="observability", kernel=">=1,<2", document=DOCUMENT, open=open_observability, tracing=trace)
