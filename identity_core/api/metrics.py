"""Counting and timing requests for Prometheus, and the text that it scrapes.

One histogram labelled by operation and status holds both the count and the latency, so that a request costs one
observation. With several worker processes prometheus-client shares its values through files in the directory that
``PROMETHEUS_MULTIPROC_DIR`` names; it reads that variable when it is first imported, so the process that starts workers sets it
before. The set of labels is fixed: operations of the document and the statuses that they gave.

Plugin border, limiter, index and the worker of anchoring count in plain integers, because a call must not pay for a metric; here the
integers are copied before each scrape and, with several worker processes, every second, since whichever of them is scraped knows only
its own. Labels are the plugins that are in use, by ``kind:name``: as many as the installation has. Of several processes the one that
holds the lease of anchoring has its figures.
"""

from __future__ import annotations

import asyncio
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from identity_core.plugin.choose import InUse
from identity_core.use_cases.anchoring.figures import Figures

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one application.

    ``shared`` is the directory through which worker processes share their values, None for a single process. Other
    rooms make their metrics at ``registry``; with several workers only prometheus-client's own metrics are shared,
    collectors of one's own are not.
    """

    def __init__(self, *, shared: str | None) -> None:
        self.registry = CollectorRegistry()
        self._shared = shared
        self._requests = Histogram(
            "identity_request_duration_seconds",
            "Time from the arrival of a request to the end of its answer.",
            ["operation", "status"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._children: dict[tuple[str, int], tuple[list[Callable[[float], None]], Callable[[float], None]]] = {}
        self._figures: list[Callable[[], None]] = []

    def before_render(self, copy: Callable[[], None]) -> None:
        """Has ``copy`` called before each scrape, to bring metrics up to what others count."""
        self._figures.append(copy)

    def observe(self, operation_id: str, status: int, seconds: float) -> None:
        """Notes one answered request; an empty ``operation_id`` is a path outside the document."""
        child = self._children.get((operation_id, status))
        if child is None:
            made = self._requests.labels(operation_id or "none", str(status))
            child = self._children[operation_id, status] = [each.inc for each in made._buckets], made._sum.inc
        # What ``Histogram.observe`` does, for a third of its cost.
        buckets, total = child
        buckets[bisect_left(BUCKETS, seconds)](1)
        total(seconds)

    def render(self, dependencies: Mapping[str, str]) -> bytes:
        """The text exposition, over all workers; ``dependencies`` is the state of each in a word, as this worker finds it."""
        for copy in self._figures:
            copy()
        own = CollectorRegistry()
        own.register(_DependencyStates(dependencies))
        return self._counted() + generate_latest(own)

    def _counted(self) -> bytes:
        if self._shared is None:
            return generate_latest(self.registry)
        _forget_the_dead(self._shared)
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=self._shared)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class _DependencyStates(Collector):
    """1 for the state that a dependency is in."""

    def __init__(self, states: Mapping[str, str]) -> None:
        self._states = states

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(
            "identity_dependency_state", "1 for the state that it is in.", labels=["dependency", "state"]
        )
        for dependency, state in self._states.items():
            family.add_metric([dependency, state], 1.0)
        yield family


def _forget_the_dead(folder: str) -> None:
    """What a worker that is gone had counted stays; what it had in flight does not."""
    for name in os.listdir(folder):
        live = re.fullmatch(r"gauge_live\w+_(\d+)\.db", name)
        if live is not None and not os.path.exists(f"/proc/{live[1]}"):
            mark_process_dead(int(live[1]), folder)  # type: ignore[no-untyped-call]


COPY_SECONDS: Final = 1.0

_COUNTS: Final = {
    "calls": "Calls that the border let in.",
    "failures": "Calls that raised, hung or returned what the port does not promise.",
    "timeouts": "Calls without an answer within the deadline; they are failures too.",
    "refused": "Calls that were not let in: too many in flight, or the method is shut off.",
}


async def keep_copying(copy: Callable[[], None]) -> None:
    """For a process whose metrics another one shows."""
    while True:
        copy()
        await asyncio.sleep(COPY_SECONDS)


class Limiter(Protocol):
    """A rate limiter whose shared store may be out of reach."""

    degraded: bool
    local_decisions: int


class FollowedCounter:
    """A counter that follows numbers which somebody else counts."""

    def __init__(self, name: str, meaning: str, registry: CollectorRegistry, *labels: str) -> None:
        self._counter = Counter(f"identity_{name}", meaning, labels, registry=registry)
        self._seen: dict[tuple[str, ...], float] = {}

    def follow(self, count: float, *labels: str) -> None:
        """Brings it up to ``count``."""
        counter = self._counter.labels(*labels) if labels else self._counter
        counter.inc(count - self._seen.get(labels, 0))
        self._seen[labels] = count


def _gauge(name: str, meaning: str, mode: str, registry: CollectorRegistry, *labels: str) -> Gauge:
    return Gauge(f"identity_{name}", meaning, labels, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]


class PluginMetrics:
    """Metrics of everything in ``in_use``, and of ``limiter`` where there is a shared one."""

    def __init__(
        self, registry: CollectorRegistry, in_use: Callable[[], Mapping[str, InUse]], limiter: Limiter | None
    ) -> None:
        self._in_use = in_use
        self._limiter = limiter
        self._counts = {
            name: FollowedCounter(f"plugin_{name}", meaning, registry, "plugin") for name, meaning in _COUNTS.items()
        }
        started = "Worker processes that were started in the place of another."
        self._restarts = FollowedCounter("plugin_process_restarts", started, registry, "plugin")
        self._in_flight = _gauge("plugin_in_flight", "Calls that are unfinished.", "livesum", registry, "plugin")
        working = "1 when the plugin does its work; 0 when it is shut off, starting or failed."
        self._working = _gauge("plugin_working", working, "livemin", registry, "plugin")
        self._processes = _gauge("plugin_processes", "Worker processes that are ready.", "livesum", registry, "plugin")
        if limiter is not None:
            degraded = "1 while the shared rate limits are out of reach and each process limits for itself."
            self._degraded = _gauge("limiter_degraded", degraded, "livemax", registry)
            self._local = FollowedCounter(
                "limiter_local_decisions", "Decisions made without the shared store.", registry
            )

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for name, one in self._in_use().items():
            for count, metric in self._counts.items():
                metric.follow(getattr(one.bulkhead, count), name)
            self._in_flight.labels(name).set(one.bulkhead.in_flight)
            self._working.labels(name).set(one.state == "active")
            if one.worker_table is not None:
                self._processes.labels(name).set(one.worker_table.up)
                self._restarts.follow(one.worker_table.restarts, name)
        if self._limiter is not None:
            self._degraded.set(self._limiter.degraded)
            self._local.follow(self._limiter.local_decisions)


class IndexMetrics:
    """The gauge of ``withheld``."""

    def __init__(self, registry: CollectorRegistry, withheld: Callable[[], int]) -> None:
        self._withheld = withheld
        meaning = "DIDs that are withheld because index and ledger differ about them; see `identity ledger repair`."
        self._gauge = _gauge("quarantined_dids", meaning, "livemax", registry)

    def copy(self) -> None:
        """Brings the metric of this process up to date."""
        self._gauge.set(self._withheld())


_ANCHORING_GAUGES: Final = {
    "waiting": "Proofs that are in no batch yet.",
    "undecided": "Batches that are not confirmed and have not failed.",
    "revoking": "Anchors whose revocation is on the way.",
    "oldest_seconds": "How long the oldest proof has waited for a batch.",
}
_ANCHORING_COUNTS: Final = {
    "confirmed": "Leaves of batches that were confirmed.",
    "failed": "Leaves of batches that failed.",
    "reopened": "Confirmed anchors and their revocations whose block the ledger undid.",
    "revoked": "Anchors that were revoked on the ledger.",
}


class AnchoringMetrics:
    """Metrics of ``figures``."""

    def __init__(self, registry: CollectorRegistry, figures: Figures) -> None:
        self._figures = figures
        self._gauges = {
            name: _gauge(f"anchoring_{name}", meaning, "livemax", registry)
            for name, meaning in _ANCHORING_GAUGES.items()
        }
        stuck = "1 while a batch waits for something, such as an empty purse, where a person has to do something."
        self._stuck = _gauge("anchoring_stuck", stuck, "livemax", registry)
        self._counts = {
            name: FollowedCounter(f"anchoring_{name}", meaning, registry) for name, meaning in _ANCHORING_COUNTS.items()
        }

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for name, gauge in self._gauges.items():
            gauge.set(getattr(self._figures, name))
        self._stuck.set(bool(self._figures.trouble))
        for name, counter in self._counts.items():
            counter.follow(getattr(self._figures, name))


class Lags(Protocol):
    """What tells how far witnesses are behind the log."""

    def lags(self) -> Mapping[str, float]:
        """By witness, in seconds."""
        ...

    def quorum_lag(self) -> float:
        """Of the last checkpoint that a quorum has cosigned, in seconds."""
        ...


class WitnessMetrics:
    """Metrics of witnesses; of several processes the one that feeds them has the figures."""

    def __init__(self, registry: CollectorRegistry, fed: Lags) -> None:
        self._fed = fed
        meaning = "How long there has been a checkpoint that the witness has not cosigned."
        self._lag = _gauge("witness_lag_seconds", meaning, "livemax", registry, "witness")
        meaning = "How long there has been a checkpoint, and no quorum has cosigned it or a later one."
        self._quorum = _gauge("witness_quorum_lag_seconds", meaning, "livemax", registry)

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for name, seconds in self._fed.lags().items():
            self._lag.labels(name).set(seconds)
        self._quorum.set(self._fed.quorum_lag())
