"""What is measured: each metric, and where in the installation its number comes from."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack

from identity_core import __version__
from identity_core.api.caching import AnswerCache
from identity_core.api.metrics import (
    AnchoringMetrics,
    IndexMetrics,
    Metrics,
    PluginMetrics,
    WitnessMetrics,
    keep_copying,
)
from identity_core.api.readings import Reading, Readings, build_info, of_disk, of_process
from identity_core.bootstrap.ports import SystemClock
from identity_core.bootstrap.runtime import Runtime


def open_metrics(opened: Runtime, answers: AnswerCache, stack: AsyncExitStack) -> Metrics:
    """The metrics of the installation; ``stack`` ends their copying between workers."""
    shared_metrics = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    measured = Metrics(shared=shared_metrics)
    build_info(measured.registry, __version__, sys.version.split()[0])
    copies = [
        PluginMetrics(measured.registry, opened.plugins.in_use, opened.limiter).copy,
        IndexMetrics(measured.registry, lambda: opened.jobs.suspicions.withheld).copy,
        Readings(measured.registry, _readings(opened, answers)).copy,
    ]
    if opened.jobs.anchorer is not None:
        copies.append(AnchoringMetrics(measured.registry, opened.jobs.anchorer.follow.figures).copy)
    if opened.jobs.feeder is not None:
        copies.append(WitnessMetrics(measured.registry, opened.jobs.feeder).copy)
    for copy in copies:
        measured.before_render(copy)
        if shared_metrics is not None:
            stack.callback(asyncio.create_task(keep_copying(copy)).cancel)
    return measured


def _readings(opened: Runtime, answers: AnswerCache) -> Iterable[Reading]:
    yield from of_process()
    yield from of_disk(opened.settings.data_dir)
    load = opened.store.database.load
    skew = "Seconds by which the clock is ahead of what it was at the start and has counted since; negative: behind."
    yield Reading("clock_skew_seconds", "livemax", skew, lambda: SystemClock().ahead_seconds(SystemClock().now()))
    waiting, limit = "Writes that wait for their commit.", "How many may wait in one process; more are 503."
    yield Reading("database_writes_waiting", "livemax", waiting, lambda: load().waiting)
    yield Reading("database_writes_waiting_limit", "livemin", limit, lambda: load().limit)
    yield Reading("database_writes", "counter", "Writes that were begun.", lambda: load().jobs)
    yield Reading("database_commits", "counter", "Groups of writes that share a commit.", lambda: load().groups)
    repeated = "Groups that PostgreSQL undid for the sake of another process (40P01, 40001) and that ran again."
    yield Reading("database_groups_repeated", "counter", repeated, lambda: load().repeated)
    reads = "Reads that PostgreSQL works on, or that wait for a connection."
    yield Reading("database_reads", "livemax", reads, lambda: load().reads)
    readers = "Connections that one process reads with; 0: reads wait for none."
    yield Reading("database_readers", "livemin", readers, lambda: load().readers)
    yield Reading("ledger_size", "livemax", "Entries of the transparency log.", lambda: opened.jobs.watch.log_size)
    jobs, broken = opened.jobs, "1 when a line of the audit log does not follow from the one before it."
    yield Reading("audit_chain_broken", "livemax", broken, lambda: bool(jobs.chain.broken))
    stuck = "1 while lines of the audit log past their time cannot go."
    yield Reading("audit_cut_stuck", "livemax", stuck, lambda: bool(jobs.cutter is not None and jobs.cutter.fault))
    yield Reading("resolution_cache_asked", "counter", "Resolutions that looked in the cache.", lambda: answers.asked)
    yield Reading("resolution_cache_hits", "counter", "Resolutions that were answered from it.", lambda: answers.hits)
    expiry = "When the first usable API key expires, in Unix time; +Inf: none does."
    yield Reading("api_key_next_expiry_timestamp_seconds", "livemin", expiry, lambda: _next_expiry(opened))


def _next_expiry(opened: Runtime) -> float:
    found = opened.key_watch.next_expiry
    return math.inf if found is None else found.timestamp()
