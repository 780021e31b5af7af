"""How the service did in the last hour: samples of its own metrics, and between two of them rates, latency and what waits.

The exposition is that of ``getMetrics``, of all processes, so each process keeps the same hour of it. It is read line by line: a
parser of the whole format would hold up requests for as long as the rendering does.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Final

from identity_codec.values import value_class
from identity_core.use_cases.background import Repeating
from identity_ui.figures import PERCENTILE

SAMPLES: Final = 121
WAITING: Final = ("database_writes_waiting", "anchoring_waiting", "plugin_in_flight")
_LINE: Final = re.compile(
    r"identity_(?:request_duration_seconds_(?P<part>bucket|count|sum)\{(?P<labels>[^}]*)\}"
    r"|(?P<gauge>" + "|".join(WAITING) + r")(?:\{[^}]*\})?) (?P<value>\S+)"
)
_STATUS: Final = re.compile(r'status="(\d)')
_LIMIT: Final = re.compile(r'le="([^"]+)"')


@dataclass(slots=True)
class FigureSample:
    """Totals since the service began, at a Unix time; ``buckets`` are cumulative by their upper limit in seconds, ``waiting`` is what waits
    now, of all labels together."""

    at: float
    count: float = 0
    refused: float = 0
    faults: float = 0
    seconds: float = 0
    buckets: dict[float, float] = field(default_factory=dict)
    waiting: dict[str, float] = field(default_factory=dict)


@value_class
class FigureInterval:
    """What lies between two samples, at the Unix time of the later. Requests, refusals (4xx) and faults (5xx) are per second; ``mean`` and
    ``within``, the upper limit of the bucket of the 99th percentile, are in ms, None where nothing was asked or it lies beyond the
    last limit; ``waiting`` has a number for each of ``WAITING``."""

    at: float
    requests: float
    refused: float
    faults: float
    mean: float | None
    within: float | None
    waiting: tuple[float, ...]


def sample_of(exposition: bytes, at: float) -> FigureSample:
    """The totals in a text exposition of Prometheus."""
    sample = FigureSample(at)
    for line in exposition.decode().splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        value = float(found["value"])
        if found["gauge"]:
            sample.waiting[found["gauge"]] = sample.waiting.get(found["gauge"], 0.0) + value
        else:
            _add(sample, found["part"], found["labels"], value)
    return sample


def _add(sample: FigureSample, part: str, labels: str, value: float) -> None:
    limit, status = _LIMIT.search(labels), _STATUS.search(labels)
    if part == "bucket" and limit is not None:
        sample.buckets[float(limit[1])] = sample.buckets.get(float(limit[1]), 0.0) + value
    elif part == "sum":
        sample.seconds += value
    elif part == "count" and status is not None:
        sample.count += value
        sample.refused += value if status[1] == "4" else 0.0
        sample.faults += value if status[1] == "5" else 0.0


def intervals(samples: Sequence[FigureSample]) -> list[FigureInterval]:
    """What lies between each two; nothing between two of which the later has counted less, because a process ended meanwhile."""
    return [_between(one, other) for one, other in pairwise(samples) if other.count >= one.count and other.at > one.at]


def _between(one: FigureSample, other: FigureSample) -> FigureInterval:
    count, seconds = other.count - one.count, other.at - one.at
    return FigureInterval(
        other.at,
        count / seconds,
        max(other.refused - one.refused, 0.0) / seconds,
        max(other.faults - one.faults, 0.0) / seconds,
        max(other.seconds - one.seconds, 0.0) / count * 1000 if count else None,
        _within(one.buckets, other.buckets, PERCENTILE * count) if count else None,
        tuple(other.waiting.get(name, 0.0) for name in WAITING),
    )


def _within(one: Mapping[float, float], other: Mapping[float, float], wanted: float) -> float | None:
    limit = min((limit for limit, count in other.items() if count - one.get(limit, 0.0) >= wanted), default=math.inf)
    return None if math.isinf(limit) else limit * 1000


@dataclass(slots=True)
class KeepFigures(Repeating):
    """Samples an hour of ``render``, the text exposition; ``now`` in Unix time."""

    complaint: ClassVar[str] = "the figures of the overview are not sampled"
    interval_seconds: ClassVar[float] = 30.0

    render: Callable[[], bytes]
    now: Callable[[], float]
    samples: deque[FigureSample] = field(default_factory=lambda: deque(maxlen=SAMPLES), init=False)

    async def step(self) -> float:
        self.samples.append(sample_of(self.render(), self.now()))
        # Who has just started the service looks at once.
        return min(self.interval_seconds, 2.0 ** len(self.samples))

    def shown(self, exposition: bytes) -> list[FigureInterval]:
        """The hour until now, of which ``exposition`` is; the oldest first."""
        return intervals([*self.samples, sample_of(exposition, self.now())])
