"""The metrics of the service as a page shows them: what was asked and how long that took, and what waits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_REQUESTS: Final = "identity_request_duration_seconds"
_START: Final = "identity_process_start_time_seconds"
PERCENTILE: Final = 0.99
QUEUES: Final = (
    "database_writes_waiting",
    "anchoring_waiting",
    "anchoring_undecided",
    "anchoring_oldest_seconds",
    "anchoring_stuck",
    "quarantined_dids",
    "plugin_in_flight",
    "witness_lag_seconds",
    "witness_quorum_lag_seconds",
    "data_free_bytes",
)
"""Gauges, without ``identity_``; those that this installation does not have are left out."""


@dataclass(slots=True)
class Rate:
    """One operation since the service began. Seconds; ``within`` is the upper limit of the bucket in which the 99th percentile lies,
    infinite beyond the last."""

    count: float = 0
    refused: float = 0
    faults: float = 0
    seconds: float = 0
    buckets: dict[float, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return self.seconds / self.count if self.count else 0.0

    @property
    def within(self) -> float:
        wanted = PERCENTILE * self.count
        return min((limit for limit, count in self.buckets.items() if count >= wanted), default=math.inf)


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """``rates`` by operationId, the busiest first; ``queues`` by the name of the gauge and its label; ``seconds`` since the oldest
    process began."""

    rates: Mapping[str, Rate]
    queues: Mapping[tuple[str, str], float]
    seconds: float

    @property
    def count(self) -> float:
        """Requests in all."""
        return sum(rate.count for rate in self.rates.values())


def figures(exposition: bytes, now: float) -> ServiceFigures:
    """Of a text exposition of Prometheus; ``now`` in Unix time."""
    rates: dict[str, Rate] = {}
    queues: dict[tuple[str, str], float] = {}
    began = now
    for family in text_string_to_metric_families(exposition.decode()):
        name = family.name.removeprefix("identity_")
        for sample in family.samples:
            if family.name == _REQUESTS:
                _add(rates.setdefault(sample.labels["operation"], Rate()), sample.name, sample.labels, sample.value)
            elif family.name == _START:
                began = sample.value
            elif name in QUEUES:
                queues[name, next(iter(sample.labels.values()), "")] = sample.value
    busiest = dict(sorted(rates.items(), key=lambda one: (-one[1].count, one[0])))
    return ServiceFigures(busiest, dict(sorted(queues.items())), max(now - began, 0.0))


def _add(rate: Rate, name: str, labels: Mapping[str, str], value: float) -> None:
    if name.endswith("_sum"):
        rate.seconds += value
    elif name.endswith("_bucket"):
        limit = float(labels["le"])
        rate.buckets[limit] = rate.buckets.get(limit, 0.0) + value
    elif name.endswith("_count"):
        rate.count += value
        rate.refused += value if labels["status"].startswith("4") else 0.0
        rate.faults += value if labels["status"].startswith("5") else 0.0
