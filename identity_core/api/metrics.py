"""Counting and timing requests for Prometheus, and the text that it scrapes.

One histogram labelled by operation and status holds both the count and the latency, so that a request costs one
observation. With several worker processes prometheus-client shares its values through files in the directory that
``PROMETHEUS_MULTIPROC_DIR`` names; it reads that variable when it is first imported, so whoever starts workers sets it
before. The set of labels is fixed: operations of the document and the statuses that they gave.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

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
        self._children: dict[tuple[str, int], Histogram] = {}
        self._figures: list[Callable[[], None]] = []

    def before_render(self, copy: Callable[[], None]) -> None:
        """Has ``copy`` called before each scrape, to bring metrics up to what others count."""
        self._figures.append(copy)

    def observe(self, operation_id: str, status: int, seconds: float) -> None:
        """Notes one answered request; an empty ``operation_id`` is a path outside the document."""
        child = self._children.get((operation_id, status))
        if child is None:
            child = self._requests.labels(operation_id or "none", str(status))
            self._children[operation_id, status] = child
        child.observe(seconds)

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
