"""The service itself: what it measures, and whether what it depends on answers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from identity_core import __version__
from identity_core.api.anchoring_metrics import AnchoringMetrics
from identity_core.api.index_metrics import IndexMetrics
from identity_core.api.metrics import Metrics
from identity_core.api.plugin_metrics import PluginMetrics
from identity_core.api.service import ServiceHandlers
from identity_core.bootstrap.runtime import Runtime


def open_metrics(opened: Runtime, stack: AsyncExitStack) -> Metrics:
    """The metrics, with those of plugins, index and anchoring; ``stack`` ends their copying between workers."""
    shared_metrics = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    measured = Metrics(shared=shared_metrics)
    figures = PluginMetrics(measured.registry, opened.plugins.in_use, opened.limiter)
    measured.before_render(figures.copy)
    index = IndexMetrics(measured.registry, lambda: opened.journal.withheld)
    measured.before_render(index.copy)
    anchoring = None
    if opened.anchorer is not None:
        anchoring = AnchoringMetrics(measured.registry, opened.anchorer.follow.journal.figures)
        measured.before_render(anchoring.copy)
    if shared_metrics is not None:
        for copied in (figures, index, anchoring):
            if copied is not None:
                stack.callback(asyncio.create_task(copied.keep_copying()).cancel)
    return measured


def service_handlers(opened: Runtime, measured: Metrics) -> ServiceHandlers:
    """The handlers of the tag ``service``."""
    version = {"version": __version__, "interface": "1.0.0", "python": sys.version.split()[0]}
    is_public = opened.settings.server.public_metrics
    return ServiceHandlers(version, _probes(opened), opened.plugins.in_use, measured, is_public)


def _probes(opened: Runtime) -> Mapping[str, Callable[[], Awaitable[str]]]:
    async def ledger_answers() -> str:
        await opened.logged.ledger.head()
        return "ok"

    async def store_answers() -> str:
        await opened.store.documents.cursor()
        return "ok"

    async def index_agrees() -> str:
        return "degraded" if await opened.store.quarantine.count() else "ok"

    async def audit_is_whole() -> str:
        return "ok" if await opened.store.audit.is_whole() else "degraded"

    async def keys_are_ours() -> str:
        return "degraded" if opened.key_watch.faults or opened.key_watch.fault else "ok"

    async def plugins_work() -> str:
        # What waits for settings was not asked for.
        states = [one.state for one in opened.plugins.in_use().values()]
        return "ok" if all(state in ("active", "available") for state in states) else "degraded"

    async def limits_are_shared() -> str:
        return "ok" if opened.limiter is None or not opened.limiter.degraded else "degraded"

    async def storage_is_ours() -> str:
        if opened.watch.mismatch is not None:
            return "mismatch"
        return "degraded" if opened.watch.unremembered or opened.watch.fault else "ok"

    async def anchors_get_on() -> str:
        return "degraded" if opened.anchorer is not None and opened.anchorer.fault else "ok"

    return {
        "ledger": ledger_answers,
        "store": store_answers,
        "index": index_agrees,
        "audit": audit_is_whole,
        "storage": storage_is_ours,
        "keys": keys_are_ours,
        "plugins": plugins_work,
        "limits": limits_are_shared,
        "anchoring": anchors_get_on,
    }
