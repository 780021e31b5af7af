"""The metrics of the service for a page: requests, their durations, and the lengths of queues."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field, structs

# Line by line: a parser of the whole format takes longer than all the rest of the page.
_SAMPLE: Final = re.compile(r"identity_(\w+)(?:\{(.*)\})? (\S+)", re.ASCII)
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"', re.ASCII)
_ESCAPED: Final = re.compile(r"\\(.)")
_REQUESTS: Final = "request_duration_seconds_"
_START: Final = "process_start_time_seconds"
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


class Rate(Struct):
    """The requests of one operation in some period, in seconds. ``p50`` and ``p99`` are the upper limit of the bucket in which the median
    and the 99th percentile lie, infinite beyond the last."""

    count: float = 0
    refused: float = 0
    faults: float = 0
    seconds: float = 0
    buckets: dict[float, float] = field(default_factory=dict)

    def combined(self, other: Rate, sign: int) -> Rate:
        """Return the sum of both, or the difference if ``sign`` is -1."""
        limits = self.buckets.keys() | other.buckets.keys()
        buckets = {limit: self.buckets.get(limit, 0.0) + sign * other.buckets.get(limit, 0.0) for limit in limits}
        own, others = structs.astuple(self)[:4], structs.astuple(other)[:4]
        count, refused, faults, seconds = (one + sign * each for one, each in zip(own, others, strict=True))
        return Rate(count, refused, faults, seconds, buckets)

    @property
    def mean(self) -> float:
        return self.seconds / self.count if self.count else 0.0

    @property
    def p50(self) -> float:
        return self.percentile(0.50)

    @property
    def p99(self) -> float:
        return self.percentile(0.99)

    def percentile(self, share: float) -> float:
        """Return the upper limit of the bucket below which ``share`` of the requests are."""
        wanted = share * self.count
        return min((limit for limit, count in self.buckets.items() if count >= wanted), default=math.inf)


class ServiceFigures(Struct, frozen=True):
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
    """Return the figures of a text exposition of Prometheus; ``now`` in Unix time."""
    rates: dict[str, Rate] = {}
    queues: dict[tuple[str, str], float] = {}
    began = now
    for line in exposition.decode().split("\n"):
        found = _SAMPLE.fullmatch(line)
        if found is None:
            continue
        labels = {label: _ESCAPED.sub(_meant, text) for label, text in _LABEL.findall(found[2] or "")}
        name, value = found[1], float(found[3])
        if name.startswith(_REQUESTS):
            _add(rates.setdefault(labels["operation"], Rate()), name.removeprefix(_REQUESTS), labels, value)
        elif name == _START:
            began = value
        elif name in QUEUES:
            queues[name, next(iter(labels.values()), "")] = value
    busiest = dict(sorted(rates.items(), key=lambda one: (-one[1].count, one[0])))
    return ServiceFigures(busiest, dict(sorted(queues.items())), max(now - began, 0.0))


def _meant(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


def _add(rate: Rate, name: str, labels: Mapping[str, str], value: float) -> None:
    if name == "sum":
        rate.seconds += value
    elif name == "bucket":
        limit = float(labels["le"])
        rate.buckets[limit] = rate.buckets.get(limit, 0.0) + value
    elif name == "count":
        rate.count += value
        rate.refused += value if labels["status"].startswith("4") else 0.0
        rate.faults += value if labels["status"].startswith("5") else 0.0
