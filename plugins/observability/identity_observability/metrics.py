"""The metrics of Prometheus, and the text that it scrapes.

One histogram labelled by operation and status has both the count and the latency, so that a request costs one observation. With several
worker processes prometheus-client shares its values through files in the folder that ``PROMETHEUS_MULTIPROC_DIR`` names. It reads that
variable when it is first imported, so the process that starts workers sets it before. The set of labels is fixed: operations of the
document and the statuses that they gave.

The numbers of gauges are copied before each scrape. With several worker processes each copies its own every second, because any of them
may be scraped.
"""

from __future__ import annotations

import asyncio
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client import Gauge as PrometheusGauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from identity_core.api.request import Request
from identity_core.extension.declaration import Gauge

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one application, and the ``gauges`` of its parts, to which parts may be added.

    ``shared`` is the folder through which worker processes share their values, None for a single process. With several workers only
    metrics of prometheus-client are shared, other collectors are not.
    """

    def __init__(self, gauges: Sequence[Gauge] = (), *, shared: str | None) -> None:
        self.registry = CollectorRegistry()
        self._shared = shared
        self._gauges = gauges
        self._copies: list[Callable[[], None]] = []
        self._requests = Histogram(
            "identity_request_duration_seconds",
            "Time from the arrival of a request to the end of its answer.",
            ["operation", "status"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._child = cache(self._new_child)

    def observe_request(self, request: Request, seconds: float) -> None:
        """Count one answered request."""
        self.observe(request.operation_id, request.status or 0, seconds)

    def observe(self, operation_id: str, status: int, seconds: float) -> None:
        """Count an answer; an empty ``operation_id`` is a path outside of the document."""
        # ``Histogram.observe`` does the same at three times the cost.
        buckets, total = self._child(operation_id, status)
        buckets[bisect_left(BUCKETS, seconds)](1)
        total(seconds)

    def _new_child(
        self, operation_id: str, status: int
    ) -> tuple[list[Callable[[float], None]], Callable[[float], None]]:
        child = self._requests.labels(operation_id or "none", str(status))
        return [each.inc for each in child._buckets], child._sum.inc

    def copy(self) -> None:
        """Copy the number of each gauge."""
        for gauge in self._gauges[len(self._copies) :]:
            self._copies.append(_copy_of(gauge, self.registry))
        for copy in self._copies:
            copy()

    def render(self, dependencies: Mapping[str, str]) -> bytes:
        """Return the text of all workers; ``dependencies`` is the state of each in a word, as this worker finds it."""
        self.copy()
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
    """Remove the current numbers of workers that have ended. Their counts stay."""
    for name in os.listdir(folder):
        live = re.fullmatch(r"gauge_live\w+_(\d+)\.db", name)
        if live is not None and not os.path.exists(f"/proc/{live[1]}"):
            mark_process_dead(int(live[1]), folder)  # type: ignore[no-untyped-call]


COPY_SECONDS: Final = 1.0


async def copy_repeatedly(copy: Callable[[], None]) -> None:
    """Call ``copy`` every second, for a process whose metrics another one renders."""
    while True:
        copy()
        await asyncio.sleep(COPY_SECONDS)


class FollowedCounter:
    """A counter that follows a number which is counted elsewhere."""

    def __init__(self, name: str, meaning: str, registry: CollectorRegistry, *labels: str) -> None:
        self._counter = Counter(f"identity_{name}", meaning, labels, registry=registry)
        self._seen: dict[tuple[str, ...], float] = {}

    def follow(self, count: float, *labels: str) -> None:
        """Increase it to ``count``."""
        counter = self._counter.labels(*labels) if labels else self._counter
        counter.inc(count - self._seen.get(labels, 0))
        self._seen[labels] = count


class CopiedGauge:
    """A gauge that is set to a number which is known elsewhere."""

    def __init__(self, gauge: Gauge, registry: CollectorRegistry, *labels: str) -> None:
        mode: Any = gauge.mode
        name = f"identity_{gauge.name}"
        self._metric = PrometheusGauge(name, gauge.meaning, labels, registry=registry, multiprocess_mode=mode)

    def follow(self, number: float, *labels: str) -> None:
        """Set it to ``number``."""
        (self._metric.labels(*labels) if labels else self._metric).set(number)


def _copy_of(gauge: Gauge, registry: CollectorRegistry) -> Callable[[], None]:
    """Return the function that copies the number of ``gauge``, or its number by label, to a metric of ``registry``."""
    labels, is_counter = ((gauge.label,) if gauge.label else ()), gauge.mode == "counter"
    counter = FollowedCounter(gauge.name, gauge.meaning, registry, *labels) if is_counter else None
    metric = counter or CopiedGauge(gauge, registry, *labels)

    def copy() -> None:
        found = gauge.read()
        if isinstance(found, Mapping):
            for value, number in found.items():
                metric.follow(number, value)
        else:
            metric.follow(found)

    return copy
