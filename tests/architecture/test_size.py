"""Upper limits of code lines and files of each package of the core. A limit is lowered when a package shrinks, and never raised."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.measure import CORE, code_lines, size

# Code lines (without blanks, comments, docstrings and imports) and files.
LIMITS = {
    ".": (585, 8),
    "api": (4_945, 58),
    "backup": (265, 4),
    "bootstrap": (2_425, 27),
    "cli": (8_615, 96),
    "client": (665, 12),
    "codec": (420, 7),
    "conformance": (2_530, 26),
    "crypto": (1_855, 31),
    "database": (1_380, 12),
    "domain": (8_275, 89),
    "plugin": (2_175, 22),
    "ports": (995, 25),
    "settings": (900, 7),
    "store": (3_450, 34),
    "throttle": (670, 8),
    "ui": (1_080, 16),
    "use_cases": (7_355, 87),
}
ALL = (48_560, 570)
# What stands between uvicorn and the application: a subclass of its protocol class, and the open connections.
CONNECTION_CODE = {"bounded_protocol": 125, "connections": 45}


def test_no_package_outgrows_its_limit() -> None:
    lines, files = size()
    assert set(lines) == set(LIMITS)
    assert {package: (lines[package], files[package]) for package in lines if lines[package] > LIMITS[package][0]} == {}
    assert {package: (lines[package], files[package]) for package in files if files[package] > LIMITS[package][1]} == {}


def test_the_core_does_not_outgrow_its_limit() -> None:
    lines, files = size()
    assert sum(lines.values()) <= ALL[0]
    assert sum(files.values()) <= ALL[1]


def test_the_code_of_connections_does_not_grow() -> None:
    sources = {name: (CORE / "cli" / f"{name}.py").read_text() for name in CONNECTION_CODE}
    assert {name: code_lines(source, ast.parse(source)) for name, source in sources.items()} == CONNECTION_CODE
    (protocol,) = (node for node in ast.parse(sources["bounded_protocol"]).body if isinstance(node, ast.ClassDef))
    lines = sources["bounded_protocol"].splitlines()[protocol.lineno - 1 : protocol.end_lineno]
    assert code_lines("\n".join(lines), ast.parse("\n".join(lines))) <= 120


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
