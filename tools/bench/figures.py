"""What a benchmark measured, as data beside what it prints: a line of JSON each, in the file that ``BENCH_FIGURES`` names.

Without the variable nothing is kept. Units are in the names of the values: ``per_second``, ``cpu_us``, ``p99_ms``, ``data``; a name
without one is a ratio or a number. ``spread`` counts latencies by quarter octaves: place n holds those from 2^(n/4) to 2^((n+1)/4)
microseconds.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILE = "BENCH_FIGURES"
NO_SPREAD: Mapping[int, int] = {}


@dataclass(frozen=True)
class Figure:
    """What was measured of one thing."""

    name: str
    values: Mapping[str, float]
    spread: Mapping[int, int] = field(default_factory=dict)


def note(name: str, *, spread: Mapping[int, int] = NO_SPREAD, **values: float) -> None:
    """Keeps a figure. What is not a finite number was not measured, and is left out."""
    place = os.environ.get(FILE)
    if place is not None:
        known = {key: float(f"{value:.5g}") for key, value in values.items() if math.isfinite(value)}
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, "values": known, "spread": spread}) + "\n")


def read(place: Path) -> list[Figure]:
    """What was kept, in its order."""
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    return [figure_of(json.loads(line)) for line in lines]


def figure_of(kept: Mapping[str, Mapping[str, float]]) -> Figure:
    """A figure of its JSON."""
    spread = {int(place): int(count) for place, count in kept["spread"].items()}
    return Figure(str(kept["name"]), dict(kept["values"]), spread)


def spread_of(seconds: Iterable[float]) -> Mapping[int, int]:
    """The spread of some latencies."""
    return Counter(math.floor(4 * math.log2(max(1.0, one * 1e6))) for one in seconds)
