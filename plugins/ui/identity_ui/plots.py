"""Plots of the service's last hour: samples of its metrics, and rates, latency and queues between two samples.

The exposition is that of ``getMetrics``, of all processes, so each process keeps the same hour of it. It is read line by line: a
parser of the whole format would hold up requests for as long as the rendering does.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Final

from msgspec import Struct

from identity_core.use_cases.background import Repeating
from identity_ui.figures import Rate, figures

SAMPLES: Final = 121
RATES_EVERY: Final = 10
"""Samples from one sample of all operations to the next."""

WAITING: Final = ("database_writes_waiting", "anchoring_waiting", "plugin_in_flight")


class FigureSample(Struct, frozen=True):
    """Totals since the service began, at a Unix time; ``waiting`` is what waits now, of all labels together."""

    at: float
    total: Rate
    waiting: tuple[float, ...]


class FigureInterval(Struct, frozen=True):
    """The figures between two samples, at the Unix time of the later. Requests, refusals (4xx) and faults (5xx) are per
    second; ``mean`` and ``within``, the upper limit of the bucket of the 99th percentile, are in ms, None where nothing
    was asked or it lies beyond the last limit; ``waiting`` has a number for each of ``WAITING``."""

    at: float
    requests: float
    refused: float
    faults: float
    mean: float | None
    within: float | None
    waiting: tuple[float, ...]


def sample_of(exposition: bytes, at: float) -> FigureSample:
    """Return the totals in a text exposition of Prometheus."""
    found, total = figures(exposition, at), Rate()
    for rate in found.rates.values():
        total = total.combined(rate, 1)
    waiting = [sum(value for (name, _), value in found.queues.items() if name == wanted) for wanted in WAITING]
    return FigureSample(at, total, tuple(waiting))


def intervals(samples: Sequence[FigureSample]) -> list[FigureInterval]:
    """Return the intervals between samples. If the later sample has counted less, a process ended, and there is none."""
    pairs = pairwise(samples)
    return [_between(one, other) for one, other in pairs if other.total.count >= one.total.count and other.at > one.at]


def _between(one: FigureSample, other: FigureSample) -> FigureInterval:
    rate, seconds = other.total.combined(one.total, -1), other.at - one.at
    times = (max(rate.mean, 0.0), rate.p99) if rate.count else (math.inf, math.inf)
    mean, within = (None if math.isinf(each) else each * 1000 for each in times)
    requests, refused, faults = (max(each, 0.0) / seconds for each in (rate.count, rate.refused, rate.faults))
    return FigureInterval(other.at, requests, refused, faults, mean, within, other.waiting)


@dataclass(slots=True)
class KeepFigures(Repeating):
    """Samples an hour of ``render``, the text exposition; ``now`` in Unix time."""

    complaint: ClassVar[str] = "the figures of the overview are not sampled"
    interval_seconds: ClassVar[float] = 30.0

    render: Callable[[], bytes]
    now: Callable[[], float]
    samples: deque[FigureSample] = field(default_factory=lambda: deque(maxlen=SAMPLES), init=False)
    rates: deque[Mapping[str, Rate]] = field(
        default_factory=lambda: deque(maxlen=SAMPLES // RATES_EVERY + 1), init=False
    )
    _steps: int = field(default=0, init=False)

    async def step(self) -> float:
        text = self.render()
        self.samples.append(sample_of(text, self.now()))
        if self._steps % RATES_EVERY == 0:
            self.rates.append(figures(text, self.now()).rates)
        self._steps += 1
        # Who has just started the service looks at once.
        return min(self.interval_seconds, 2.0 ** len(self.samples))

    def rates_of_hour(self, rates: Mapping[str, Rate]) -> dict[str, Rate]:
        """Return the operations of the last hour, the busiest first; ``rates`` are those until now. If a count has fallen, a process ended,
        and its operation is shown since the start."""
        before = self.rates[0] if self.rates else {}
        found = dict[str, Rate]()
        for name, rate in rates.items():
            since = rate.combined(before.get(name, Rate()), -1)
            found[name] = rate if since.count < 0 else since
        return dict(sorted(found.items(), key=lambda one: (-one[1].count, one[0])))

    def list_intervals(self, exposition: bytes) -> list[FigureInterval]:
        """Return the hour until now, of which ``exposition`` is; the oldest first."""
        return intervals([*self.samples, sample_of(exposition, self.now())])
