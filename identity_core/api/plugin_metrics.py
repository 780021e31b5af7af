"""What the plugin border and the limiter count, as metrics.

They count in plain integers, because a call must not pay for a metric; here the integers are copied before each scrape and, with
several worker processes, every second, since whichever of them is scraped knows only its own. Labels are the plugins that are
in use, by ``kind:name``: as many as the installation has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

from identity_core.plugin.inventory import InUse

COPY_SECONDS: Final = 1.0

_COUNTS: Final = {
    "calls": "Calls that the border let in.",
    "failures": "Calls that raised, hung or returned what the port does not promise.",
    "timeouts": "Calls without an answer within the deadline; they are failures too.",
    "refused": "Calls that were not let in: too many in flight, or the method is shut off.",
}


class Limiter(Protocol):
    """A rate limiter whose shared store may be out of reach."""

    degraded: bool
    local_decisions: int


class _Counts:
    """A counter that follows numbers which somebody else counts."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._seen: dict[str, int] = {}

    def follow(self, plugin: str, count: int) -> None:
        counter = self._counter.labels(plugin)
        counter.inc(count - self._seen.get(plugin, 0))
        self._seen[plugin] = count


class PluginMetrics:
    """Metrics of everything in ``in_use``, and of ``limiter`` where there is a shared one."""

    def __init__(
        self, registry: CollectorRegistry, in_use: Callable[[], Mapping[str, InUse]], limiter: Limiter | None
    ) -> None:
        self._in_use = in_use
        self._limiter = limiter
        self._counts = {
            name: _Counts(Counter(f"identity_plugin_{name}", meaning, ["plugin"], registry=registry))
            for name, meaning in _COUNTS.items()
        }
        self._restarts = _Counts(
            Counter(
                "identity_plugin_process_restarts",
                "Worker processes that were started in the place of another.",
                ["plugin"],
                registry=registry,
            )
        )
        self._in_flight = _gauge("plugin_in_flight", "Calls that are unfinished.", "livesum", registry)
        self._working = _gauge(
            "plugin_working",
            "1 when the plugin does its work; 0 when it is shut off, starting or failed.",
            "livemin",
            registry,
        )
        self._processes = _gauge("plugin_processes", "Worker processes that are ready.", "livesum", registry)
        if limiter is not None:
            self._degraded = Gauge(
                "identity_limiter_degraded",
                "1 while the shared rate limits are out of reach and each process limits for itself.",
                registry=registry,
                multiprocess_mode="livemax",
            )
            self._local = Counter(
                "identity_limiter_local_decisions", "Decisions made without the shared store.", registry=registry
            )
            self._local_seen = 0

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for name, one in self._in_use().items():
            for count, metric in self._counts.items():
                metric.follow(name, getattr(one.bulkhead, count))
            self._in_flight.labels(name).set(one.bulkhead.in_flight)
            self._working.labels(name).set(one.state == "active")
            if one.worker_table is not None:
                self._processes.labels(name).set(one.worker_table.up)
                self._restarts.follow(name, one.worker_table.restarts)
        if self._limiter is not None:
            self._degraded.set(self._limiter.degraded)
            self._local.inc(self._limiter.local_decisions - self._local_seen)
            self._local_seen = self._limiter.local_decisions

    async def keep_copying(self) -> None:
        """For a process whose metrics another one shows."""
        while True:
            self.copy()
            await asyncio.sleep(COPY_SECONDS)


def _gauge(name: str, meaning: str, mode: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(f"identity_{name}", meaning, ["plugin"], registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]
