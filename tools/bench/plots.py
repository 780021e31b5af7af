"""Line plots as SVG, for a report that is one file and loads nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 26, 30
COLOURS = ("#0b5fa5", "#b3440f", "#2a7a35", "#6c4a9e", "#7a6a00", "#8c2f5f")
Points = Sequence[tuple[float, float]]


def plot(title: str, unit: str, lines: Mapping[str, Points], marks: Sequence[tuple[float, float, str]] = ()) -> str:
    """A plot of lines over seconds; ``marks`` are spans (begin, end, what) that are shaded. A value that is not a finite number breaks its
    line."""
    known = [point for line in lines.values() for point in line if math.isfinite(point[1])]
    last = max([1.0, *(second for second, _ in known), *(end for _, end, _ in marks)])
    step = rounded_step(max([value for _, value in known], default=1.0) / 4)
    most = step * 4
    across = (WIDTH - LEFT - RIGHT) / last
    up = (HEIGHT - TOP - BOTTOM) / most

    def x(second: float) -> float:
        return round(LEFT + second * across, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value * up, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" font-size="11">'
    ]
    parts.append(f"<title>{escape(title)}</title>")
    for begin, end, what in marks:
        wide = max(1.0, round((end - begin) * across, 1))
        place = f'x="{x(begin)}" y="{TOP}" width="{wide}" height="{HEIGHT - TOP - BOTTOM}"'
        parts.append(f'<rect {place} fill="#ddd"><title>{escape(what)}</title></rect>')
    for turn in range(5):
        value = turn * step
        parts.append(f'<path d="M{LEFT} {y(value)}H{WIDTH - RIGHT}" stroke="#ccc" fill="none"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4}" text-anchor="end">{value:g}</text>')
        second = last * turn / 4
        parts.append(f'<text x="{x(second)}" y="{HEIGHT - 10}" text-anchor="middle">{_clock(second)}</text>')
    for colour, (name, line) in zip(COLOURS, lines.items(), strict=False):
        parts.append(
            f'<path d="{_path([(x(a), y(b)) for a, b in line])}" stroke="{colour}" fill="none"><title>{escape(name)}</title></path>'
        )
    parts.append(f'<text x="{LEFT}" y="15" font-weight="bold">{escape(title)}, {escape(unit)}</text>')
    legend = "".join(
        f'<tspan fill="{colour}" dx="10">{escape(name)}</tspan>' for colour, name in zip(COLOURS, lines, strict=False)
    )
    parts.append(f'<text x="{WIDTH - RIGHT}" y="15" text-anchor="end">{legend}</text></svg>')
    return "\n".join(parts)


def _path(points: Points) -> str:
    commands, pen = [], "M"
    for across, up in points:
        if math.isfinite(up):
            commands.append(f"{pen}{across} {up}")
            pen = "L"
        else:
            pen = "M"
    return "".join(commands)


def rounded_step(least: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 0.25
    return next((factor * power for factor in (1, 2, 2.5, 5) if factor * power >= least), 10 * power)


def _clock(second: float) -> str:
    return f"{int(second) // 60}:{int(second) % 60:02}"
