"""The core grows only where somebody decides it: upper limits of code lines and files, room by room. Lower them when a room shrinks."""

from __future__ import annotations

import ast

import pytest

from tests.house.measure import code_lines, size

# Code lines (without blanks, comments, docstrings and imports) and files.
LIMITS = {
    ".": (357, 4),
    "api": (3_905, 53),
    "bootstrap": (942, 25),
    "cli": (4_795, 47),
    "client": (241, 5),
    "codec": (223, 5),
    "conformance": (1_918, 22),
    "crypto": (1_026, 18),
    "database": (838, 13),
    "domain": (4_742, 66),
    "plugin": (2_012, 31),
    "ports": (672, 22),
    "settings": (735, 7),
    "store": (3_212, 62),
    "throttle": (623, 9),
    "use_cases": (4_112, 115),
}
ALL = (30_353, 504)


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
