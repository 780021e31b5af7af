"""Bars, growth and latencies as SVG, beside the lines of ``plots.py``: a page that holds them loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tools.bench.plots import COLOURS, rounded_step

WIDTH, NAMES, BAR, GAP = 840, 330, 11, 14
VALUES = WIDTH - NAMES - 110
LOWEST_OCTAVE = 4
INK, PAPER, GRID = "#1c2430", "#ffffff", "#cccccc"


@dataclass(frozen=True)
class Bars:
    """One group: a value for each name, and what was ``asked``, which is a line across it."""

    title: str
    values: Mapping[str, float]
    unit: str
    asked: float | None = None


def bars(title: str, groups: Sequence[Bars]) -> str:
    """Horizontal bars. Each group has a scale of its own, because their units differ."""
    names = [*dict.fromkeys(name for group in groups for name in group.values)]
    colour = dict(zip(names, COLOURS, strict=False))
    parts, y = [], 44
    for group in groups:
        most = max([*group.values.values(), group.asked or 0.0, 1e-9])
        top = y
        parts.append(_text(0, y + BAR, group.title))
        for name, value in group.values.items():
            wide = max(1.0, round(VALUES * value / most, 1))
            parts.append(
                f'<rect x="{NAMES}" y="{y}" width="{wide}" height="{BAR - 1}" fill="{colour[name]}"><title>{escape(name)}</title></rect>'
            )
            parts.append(
                _text(
                    NAMES + wide + 4,
                    y + BAR - 2,
                    f"{value:.3g} {group.unit}" if value < 1000 else f"{value:,.0f} {group.unit}",
                )
            )
            y += BAR
        if group.asked is not None:
            x = round(NAMES + VALUES * group.asked / most, 1)
            parts.append(
                f'<path d="M{x} {top - 2}V{y + 1}" stroke="{INK}" stroke-dasharray="3 2"><title>asked</title></path>'
            )
        y += GAP
    return _svg(title, y, [_legend(colour), *parts])


def growth(title: str, unit: str, sizes: Sequence[str], lines: Mapping[str, Sequence[float | None]]) -> str:
    """A group of bars a size in each of ``lines``: how a value grows with what is stored. What was not measured has none."""
    groups = [
        Bars(name, {size: value for size, value in zip(sizes, values, strict=True) if value is not None}, unit)
        for name, values in lines.items()
    ]
    return bars(title, [group for group in groups if group.values])


def histogram(title: str, spread: Mapping[int, int]) -> str:
    """How many answers took how long: a column a quarter octave, the share of all above it, the time below every whole octave."""
    first, last = (min(spread), max(spread)) if spread else (0, 0)
    first -= first % LOWEST_OCTAVE
    count, most = sum(spread.values()), max(spread.values(), default=1)
    step = rounded_step(100 * most / max(1, count) / 2)
    wide, height, top, left = (WIDTH - 60) / max(12, last + 1 - first), 90, 26, 46
    up = height / (2 * step)
    parts = []
    for turn in range(3):
        y = round(top + height - turn * step * up, 1)
        parts.append(f'<path d="M{left} {y}H{WIDTH - 12}" stroke="{GRID}"/>')
        parts.append(_text(left - 4, y + 4, f"{turn * step:g} %", "end"))
    for place in range(first, max(last + 1, first + 12) + 1):
        x = round(left + (place - first) * wide, 1)
        share = 100 * spread.get(place, 0) / max(1, count)
        if share:
            tall = round(share * up, 1)
            says = f"{_time(place)} to {_time(place + 1)}: {share:.2g} %"
            parts.append(
                f'<rect x="{x}" y="{round(top + height - tall, 1)}" width="{round(wide - 1, 1)}" height="{tall}" '
                f'fill="{COLOURS[0]}"><title>{says}</title></rect>'
            )
        if place % LOWEST_OCTAVE == 0:
            parts.append(_text(x, top + height + 14, _time(place), "middle"))
    return _svg(title, top + height + 22, [_text(0, 14, f"{title} ({count} answers)"), *parts])


def _time(place: int) -> str:
    microseconds = 2 ** (place / 4)
    if microseconds < 1e3:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1e3:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"


def _legend(colours: Mapping[str, str]) -> str:
    said = "".join(f'<tspan fill="{colour}" dx="12">{escape(name)}</tspan>' for name, colour in colours.items())
    return f'<text x="{NAMES}" y="32">{said}</text>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" font-size="11" style="background:{PAPER}"'
    )
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {head}>', f"<title>{escape(title)}</title>", *parts, "</svg>"]
    )
