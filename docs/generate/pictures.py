"""Pictures as SVG: the floors of the core, as import-linter holds them, and sequence diagrams from their text.

A sequence is a comment that says what it shows, the participants with commas between them, and a line ``from -> to: message`` for each
message.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INK, LINE, FILL, PAPER = "#1c2430", "#1d4f91", "#e6edf7", "#ffffff"
# Pixels; a character of the 13-pixel font is at most this wide on average.
CHARACTER, ROW, MARGIN = 7.4, 34, 24


@dataclass(frozen=True, slots=True)
class Message:
    """One arrow; from a participant to itself it is a loop."""

    sender: str
    receiver: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """Who takes part, what it shows, and the messages in their order."""

    title: str
    participants: tuple[str, ...]
    messages: tuple[Message, ...]


def read_sequence(text: str) -> Diagram:
    """Return the diagram of a text. Raises ``ValueError`` for an invalid line, or one that names an unknown participant."""
    title, named, *lines = [line for line in text.splitlines() if line.strip()]
    participants = tuple(name.strip() for name in named.split(","))
    messages = []
    for line in lines:
        ends, colon, said = line.partition(": ")
        sender, arrow, receiver = ends.partition(" -> ")
        if not (colon and arrow and {sender, receiver} <= {*participants}):
            raise ValueError(f"no message: {line}")
        messages.append(Message(sender, receiver, said))
    return Diagram(title.removeprefix("# "), participants, tuple(messages))


def sequence_picture(diagram: Diagram) -> str:
    """The diagram as SVG, wide enough for its texts."""
    places = _places(diagram)
    height = MARGIN * 2 + ROW * (len(diagram.messages) + 1)
    parts = []
    for name, x in places.items():
        half = len(name) * CHARACTER / 2 + 12
        parts.append(
            f'<line x1="{x}" y1="{MARGIN + 28}" x2="{x}" y2="{height - 12}" stroke="{LINE}" stroke-dasharray="3 4"/>'
        )
        parts += _box(x - half, MARGIN, 2 * half, 28, name)
    for number, message in enumerate(diagram.messages):
        parts += _arrow(
            places[message.sender], places[message.receiver], MARGIN + 28 + ROW * (number + 1), message.text
        )
    return _svg(_width(diagram, places), height, diagram.title, parts)


def _places(diagram: Diagram) -> dict[str, float]:
    """The column of each participant, so far from the one before that what is said between them has room."""
    places: dict[str, float] = {}
    x = MARGIN + len(diagram.participants[0]) * CHARACTER / 2 + 12
    for number, name in enumerate(diagram.participants):
        if number:
            before = diagram.participants[number - 1]
            x = max([x + 120, *_needed(diagram, places, before, name)])
        places[name] = round(x, 1)
    return places


def _needed(diagram: Diagram, places: dict[str, float], before: str, name: str) -> Iterator[float]:
    """How far right ``name`` must be for the messages that end at it, and for the loops of the one before."""
    for one in diagram.messages:
        ends = {one.sender, one.receiver}
        room = len(one.text) * CHARACTER + 24
        if ends == {before}:
            yield places[before] + room + 24
        elif name in ends and ends - {name} <= places.keys():
            (other,) = ends - {name} or {name}
            if other != name:
                yield places[other] + room


def _width(diagram: Diagram, places: dict[str, float]) -> float:
    last = diagram.participants[-1]
    ends = [places[last] + len(last) * CHARACTER / 2 + 12]
    ends += [
        places[one.sender] + len(one.text) * CHARACTER + 40 for one in diagram.messages if one.sender == one.receiver
    ]
    return max(ends) + MARGIN


def _arrow(start: float, end: float, y: float, text: str) -> Iterator[str]:
    if start == end:
        yield f'<path d="M{start} {y - 8}h16v12h-12" fill="none" stroke="{LINE}" marker-end="url(#head)"/>'
        yield _text(start + 24, y + 2, text)
        return
    side = -1 if end > start else 1
    yield f'<line x1="{start}" y1="{y}" x2="{end + 2 * side}" y2="{y}" stroke="{LINE}" marker-end="url(#head)"/>'
    yield _text((start + end) / 2, y - 6, text, middle=True)


def floors_picture(pyproject: Path = ROOT / "pyproject.toml") -> str:
    """The floors of the core, the highest first; imports go down only."""
    contract = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    floors = [
        [room.strip().removeprefix("identity_core.") for room in layer.split("|")] for layer in contract["layers"]
    ]
    width = max(sum(_room_width(room) for room in floor) for floor in floors) + 2 * MARGIN
    parts: list[str] = []
    for number, floor in enumerate(floors):
        gap = (width - 2 * MARGIN - sum(_room_width(room) for room in floor)) / len(floor)
        x: float = MARGIN
        for room in floor:
            parts += _box(x, MARGIN + 46 * number, _room_width(room) + gap - 8, 34, room)
            x += _room_width(room) + gap
    return _svg(width, MARGIN * 2 + 46 * len(floors) - 12, contract["name"], parts)


def _room_width(room: str) -> float:
    return len(room) * CHARACTER + 32


def _box(x: float, y: float, width: float, height: float, text: str) -> Iterator[str]:
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="5" fill="{FILL}" stroke="{LINE}"/>'
    yield _text(x + width / 2, y + height / 2 + 4.5, text, middle=True)


def _text(x: float, y: float, text: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{anchor}>{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def pictures() -> dict[str, str]:
    """Name of the file → SVG."""
    made = {"floors.svg": floors_picture()}
    for path in sorted((ROOT / "docs" / "explanation").glob("*.sequence")):
        made[f"{path.stem}.svg"] = sequence_picture(read_sequence(path.read_text(encoding="utf-8")))
    return made
