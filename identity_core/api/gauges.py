"""Gauges of the plugins in use, of the rate limiter and of anchoring.

The plugin border, the limiter and the worker of anchoring count in plain integers, because a call must not wait for a metric. The label
of a plugin is its ``kind:name``. Of several processes the one that holds the lease of anchoring has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Final, Protocol

from identity_core.extension.metrics import Gauge, Mode
from identity_core.plugin.choose import InUse
from identity_core.use_cases.anchoring.figures import Figures

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


_STUCK: Final = "1 while a batch waits for something, such as an empty purse, where a person has to do something."
_ANCHORING: Final[dict[str, tuple[Mode, str]]] = {
    "waiting": ("livemax", "Proofs that are in no batch yet."),
    "undecided": ("livemax", "Batches that are not confirmed and have not failed."),
    "revoking": ("livemax", "Anchors whose revocation is on the way."),
    "oldest_seconds": ("livemax", "How long the oldest proof has waited for a batch."),
    "confirmed": ("counter", "Leaves of batches that were confirmed."),
    "failed": ("counter", "Leaves of batches that failed."),
    "reopened": ("counter", "Confirmed anchors and their revocations whose block the ledger undid."),
    "revoked": ("counter", "Anchors that were revoked on the ledger."),
}


def anchoring_gauges(figures: Figures) -> Iterator[Gauge]:
    """Yield the gauges of anchoring."""

    def figure(name: str) -> Callable[[], Any]:
        return lambda: getattr(figures, name)

    yield Gauge("anchoring_stuck", "livemax", _STUCK, lambda: bool(figures.trouble))
    for name, (mode, meaning) in _ANCHORING.items():
        yield Gauge(f"anchoring_{name}", mode, meaning, figure(name))
