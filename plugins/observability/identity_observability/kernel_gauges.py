"""The gauges of the kernel: of plugins in use, rate limits, databases, caches, sinks and API keys.

The kernel counts in plain integers, because a call must not wait for a metric. The label of a plugin is its ``kind:name``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Final

from identity_core.api.dids import DidHandlers
from identity_core.bootstrap import SystemClock
from identity_core.database import Database
from identity_core.extension.declaration import Gauge, Kernel
from identity_core.plugin.choose import InUse
from identity_core.plugin.manager import PluginManager
from identity_core.store import Store
from identity_core.throttle.memory import TokenBucketStorage
from identity_core.use_cases.auth.tagged import KeyStoreWatch
from identity_core.use_cases.dids.index_audit import RecordSuspicions

_CALLS: Final = {
    "calls": "Calls that the border let in.",
    "failures": "Calls that raised, hung or returned what the port does not promise.",
    "timeouts": "Calls without an answer within the deadline; they are failures too.",
    "refused": "Calls that were not let in: too many in flight, or the method is shut off.",
}
_RESTARTS: Final = "Worker processes that were started instead of another."
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


def limiter_gauges(limiter: TokenBucketStorage | None) -> Iterator[Gauge]:
    """Yield the gauges of a shared rate limiter; none without one."""
    if limiter is None:
        return
    degraded = "1 while the shared rate limits are out of reach and each process limits for itself."
    yield Gauge("limiter_degraded", "livemax", degraded, lambda: bool(limiter.degraded))
    local = "Decisions made without the shared store."
    yield Gauge("limiter_local_decisions", "counter", local, lambda: limiter.local_decisions)


def kernel_gauges(kernel: Kernel) -> Iterator[Gauge]:
    """Yield the gauges of the installation."""
    answers, buckets, keys = kernel.need(DidHandlers).cache, kernel.need(TokenBucketStorage), kernel.need(KeyStoreWatch)
    suspicions = kernel.need(RecordSuspicions)
    yield from plugin_gauges(kernel.need(PluginManager).in_use)
    yield from limiter_gauges(None if buckets.degraded is None else buckets)
    withheld = "DIDs that are withheld because index and ledger differ about them; see `identity ledger repair`."
    yield Gauge("quarantined_dids", "livemax", withheld, lambda: suspicions.withheld)
    load = kernel.need(Database).load
    skew = "Seconds by which the clock is ahead of what it was at the start and has counted since; negative: behind."
    yield Gauge("clock_skew_seconds", "livemax", skew, lambda: SystemClock().ahead_seconds(SystemClock().now()))
    waiting, limit = "Writes that wait for their commit.", "How many may wait in one process; more are 503."
    yield Gauge("database_writes_waiting", "livemax", waiting, lambda: load().waiting)
    yield Gauge("database_writes_waiting_limit", "livemin", limit, lambda: load().limit)
    yield Gauge("database_writes", "counter", "Writes that were begun.", lambda: load().jobs)
    yield Gauge("database_commits", "counter", "Groups of writes that share a commit.", lambda: load().groups)
    repeated = "Groups that PostgreSQL undid for the sake of another process (40P01, 40001) and that ran again."
    yield Gauge("database_groups_repeated", "counter", repeated, lambda: load().repeated)
    reads = "Reads that PostgreSQL works on, or that wait for a connection."
    yield Gauge("database_reads", "livemax", reads, lambda: load().reads)
    readers = "Connections that one process reads with; 0: reads wait for none."
    yield Gauge("database_readers", "livemin", readers, lambda: load().readers)
    yield Gauge("resolution_cache_asked", "counter", "Resolutions that looked in the cache.", lambda: answers.asked)
    yield Gauge("resolution_cache_hits", "counter", "Resolutions that were answered from it.", lambda: answers.hits)
    sinks = kernel.need(Store).activity.sinks
    lost = "Events of which an extension could not write its rows; see the log."
    yield Gauge("event_sink_lost", "counter", lost, lambda: {one.name: one.lost for one in sinks}, "sink")
    seconds = "Time in which extensions have written rows of events."
    yield Gauge("event_sink_seconds", "counter", seconds, lambda: {one.name: one.seconds for one in sinks}, "sink")
    expiry = "When the first usable API key expires, in Unix time; +Inf: none does."
    yield Gauge("api_key_next_expiry_timestamp_seconds", "livemin", expiry, lambda: _next_expiry(keys))


def _next_expiry(keys: KeyStoreWatch) -> float:
    found = keys.next_expiry
    return math.inf if found is None else found.timestamp()
