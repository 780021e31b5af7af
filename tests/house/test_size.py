"""The core grows only where somebody decides it: upper limits of code lines and files, room by room. Lower them when a room shrinks."""

from __future__ import annotations

import ast

import pytest

from tests.house.measure import code_lines, size

# Code lines (without blanks, comments, docstrings and imports) and files.
LIMITS = {
    ".": (362, 5),
    "api": (2_660, 34),
    "bootstrap": (905, 9),
    "cli": (4_260, 46),
    "client": (260, 5),
    "codec": (410, 7),
    "conformance": (1_845, 18),
    "crypto": (990, 18),
    "database": (890, 10),
    "domain": (4_805, 49),
    "plugin": (1_770, 19),
    "ports": (645, 16),
    "settings": (750, 7),
    "store": (2_400, 28),
    "throttle": (630, 8),
    "use_cases": (4_000, 51),
}
ALL = (27_500, 330)


def test_no_room_outgrows_its_limit() -> None:
    lines, files = size()
    assert set(lines) == set(LIMITS)
    assert {room: (lines[room], files[room]) for room in lines if lines[room] > LIMITS[room][0]} == {}
    assert {room: (lines[room], files[room]) for room in files if files[room] > LIMITS[room][1]} == {}


def test_the_core_does_not_outgrow_its_limit() -> None:
    lines, files = size()
    assert sum(lines.values()) <= ALL[0]
    assert sum(files.values()) <= ALL[1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", 0),
        ('"""What it is for."""\n\nimport os\nfrom a import (\n    b,\n    c,\n)\n', 0),
        ("x = 1  # why\n# a sentence\n\ny = 2\n", 2),
        (
            'class A:\n    """A."""\n\n    def f(self):\n        """F,\n        more."""\n        return (\n            1\n        )\n',
            5,
        ),
        ('TEXT = """one\n\ntwo"""\n', 2),
    ],
)
def test_code_lines_are_what_they_are_said_to_be(source: str, expected: int) -> None:
    assert code_lines(source, ast.parse(source)) == expected
