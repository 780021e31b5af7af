"""Gauges of the plugins in use and of the rate limiter.

The plugin border and the limiter count in plain integers, because a call must not wait for a metric. The label of a plugin is its
``kind:name``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Final, Protocol

from identity_core.extension.metrics import Gauge
from identity_core.plugin.choose import InUse

_CALLS: Final = {
    "calls": "Calls that the border let in.",
    "failures": "Calls that raised, hung or returned what the port does not promise.",
    "timeouts": "Calls without an answer within the deadline; they are failures too.",
    "refused": "Calls that were not let in: too many in flight, or the method is shut off.",
}
_RESTARTS: Final = "Worker processes that were started in the place of another."
_WORKING: Final = "1 when the plugin does its work; 0 when it is shut off, starting or failed."


def plugin_gauges(in_use: Callable[[], Mapping[str, InUse]]) -> Iterator[Gauge]:
    """Yield the gauges of everything in ``in_use``."""

    def by_plugin(read: Callable[[InUse], float]) -> Callable[[], Mapping[str, float]]:
        return lambda: {name: read(one) for name, one in in_use().items()}

    def of_workers(count: str) -> Callable[[], Mapping[str, float]]:
        return lambda: {
            name: getattr(one.worker_table, count) for name, one in in_use().items() if one.worker_table is not None
        }

    for count, meaning in _CALLS.items():
        yield Gauge(f"plugin_{count}", "counter", meaning, by_plugin(attrgetter(f"bulkhead.{count}")), "plugin")
    in_flight = by_plugin(attrgetter("bulkhead.in_flight"))
    yield Gauge("plugin_in_flight", "livesum", "Calls that are unfinished.", in_flight, "plugin")
    yield Gauge("plugin_working", "livemin", _WORKING, by_plugin(lambda one: one.state == "active"), "plugin")
    yield Gauge("plugin_processes", "livesum", "Worker processes that are ready.", of_workers("up"), "plugin")
    yield Gauge("plugin_process_restarts", "counter", _RESTARTS, of_workers("restarts"), "plugin")


class Limiter(Protocol):
    """A rate limiter whose shared store may be out of reach."""

    degraded: bool
    local_decisions: int


def limiter_gauges(limiter: Limiter | None) -> Iterator[Gauge]:
    """Yield the gauges of a shared rate limiter; none without one."""
    if limiter is None:
        return
    degraded = "1 while the shared rate limits are out of reach and each process limits for itself."
    yield Gauge("limiter_degraded", "livemax", degraded, lambda: limiter.degraded)
    local = "Decisions made without the shared store."
    yield Gauge("limiter_local_decisions", "counter", local, lambda: limiter.local_decisions)
