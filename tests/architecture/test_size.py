"""Upper limits of code lines and files of each package of the core. A limit is lowered when a package shrinks, and never raised."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.sizes import CORE, Size, code_lines, package_sizes, size_of, size_of_functions, statements

# Code lines (without blanks, comments, docstrings and imports) and files.
LIMITS = {
    ".": (188, 7),
    "api": (2_665, 25),
    "bootstrap": (751, 7),
    "cli": (937, 9),
    "database": (803, 8),
    "domain": (2_402, 28),
    "extension": (344, 5),
    "plugin": (1_218, 11),
    "ports": (549, 15),
    "settings": (853, 6),
    "store": (1_767, 17),
    "throttle": (217, 3),
    "use_cases": (2_917, 34),
}
# What stands between uvicorn and the application: a subclass of its protocol class, and the open connections.
CONNECTION_CODE = 170


def test_no_package_outgrows_its_limit() -> None:
    sizes = package_sizes()
    assert sizes.keys() == LIMITS.keys()
    assert {package: size for package, size in sizes.items() if size.lines > LIMITS[package][0]} == {}
    assert {package: size for package, size in sizes.items() if size.files > LIMITS[package][1]} == {}


def test_the_code_of_connections_does_not_grow() -> None:
    source = (CORE / "cli" / "connections.py").read_text()
    assert code_lines(source, ast.parse(source)) <= CONNECTION_CODE
    *_, protocol = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    lines = source.splitlines()[protocol.lineno - 1 : protocol.end_lineno]
    assert code_lines("\n".join(lines), ast.parse("\n".join(lines))) <= 120


CLASS = 'class A:\n    """A."""\n\n    def f(self):\n        """F,\n        more."""\n        return (\n            1\n        )\n'
BRANCHES = """
try:
    x = 1; y = 2
except OSError:
    match x:
        case 1:
            z = [n for n in (1, 2)]
else:
    while x:
        import os
finally:
    with x: pass
"""


@pytest.mark.parametrize(
    ("source", "lines", "counted"),
    [
        ("", 0, 0),
        ('"""What it is for."""\n\nimport os\nfrom a import (\n    b,\n    c,\n)\n', 0, 0),
        ("x = 1  # why\n# a sentence\n\ny = 2\n", 2, 2),
        (CLASS, 5, 3),
        ('TEXT = """one\n\ntwo"""\n', 2, 1),
        (BRANCHES, 10, 8),
    ],
)
def test_lines_and_statements_that_count(source: str, lines: int, counted: int) -> None:
    assert code_lines(source, ast.parse(source)) == lines
    assert statements(ast.parse(source)) == counted


def test_size_of_files_is_their_sum(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(CLASS)
    assert size_of(sorted(tmp_path.iterdir())) == Size(lines=10, statements=6, files=2)
    assert size_of([]) == Size(0, 0, 0)


FUNCTIONS = """
@cache
@another
def outer():
    '''Doc.'''
    import os

    def inner():
        return 1

    return inner


async def other():
    return 2
"""


@pytest.mark.parametrize(
    ("beginnings", "lines", "counted"),
    [({2}, 6, 4), ({8}, 2, 2), ({2, 8}, 6, 4), ({14}, 2, 2), ({2, 14}, 8, 6), ({5}, 0, 0), (set(), 0, 0)],
)
def test_size_of_entered_functions(tmp_path: Path, beginnings: set[int], lines: int, counted: int) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    assert size_of_functions({tmp_path / "functions.py": beginnings}) == Size(lines, counted, 1)
