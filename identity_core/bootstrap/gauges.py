"""The gauges of the kernel: the source of each number in the installation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from identity_core.api.access_log import limiter_gauges, plugin_gauges
from identity_core.api.caching import AnswerCache
from identity_core.bootstrap.ports import SystemClock
from identity_core.bootstrap.runtime import Runtime
from identity_core.extension.metrics import Gauge


def kernel_gauges(opened: Runtime, answers: AnswerCache) -> Iterator[Gauge]:
    """Yield the gauges of the installation."""
    yield from plugin_gauges(opened.plugins.in_use)
    yield from limiter_gauges(opened.limiter)
    withheld = "DIDs that are withheld because index and ledger differ about them; see `identity ledger repair`."
    yield Gauge("quarantined_dids", "livemax", withheld, lambda: opened.jobs.suspicions.withheld)
    load = opened.store.database.load
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
    sinks = opened.store.activity.sinks
    lost = "Events of which an extension could not write its rows; see the log."
    yield Gauge("event_sink_lost", "counter", lost, lambda: {one.name: one.lost for one in sinks}, "sink")
    seconds = "Time in which extensions have written rows of events."
    yield Gauge("event_sink_seconds", "counter", seconds, lambda: {one.name: one.seconds for one in sinks}, "sink")
    expiry = "When the first usable API key expires, in Unix time; +Inf: none does."
    yield Gauge("api_key_next_expiry_timestamp_seconds", "livemin", expiry, lambda: _next_expiry(opened))


def _next_expiry(opened: Runtime) -> float:
    found = opened.key_watch.next_expiry
    return math.inf if found is None else found.timestamp()
