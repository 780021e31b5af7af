"""Counters of code: lines, statements and files of packages, distributions and functions.

A code line is a line without blanks, comments, docstrings and imports. A statement is a statement of the syntax tree without docstrings
and imports, so that a line with two of them counts twice and a wrapped one once.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "identity_core"
NOT_SHIPPED = {"build", "examples", "plugin_templates", "tests"}


class Size(NamedTuple):
    """How much code something contains."""

    lines: int
    statements: int
    files: int


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


@cache
def shipped(folder: str) -> tuple[Path, ...]:
    """Return the Python files below a folder of the repository that are in an import package, without tests and templates."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).parts[:-1]
        if any(part.startswith("identity_") for part in parts) and not NOT_SHIPPED & set(parts):
            found.append(path)
    return tuple(found)


def modules() -> dict[Path, ast.Module]:
    """Return every module of the core with its syntax tree."""
    return {path: parsed(path) for path in shipped("identity_core")}


def package_of(path: Path) -> str:
    """Return the folder below the core that contains a module; ``.`` for the core's own modules."""
    parts = path.relative_to(CORE).parts
    return parts[0] if len(parts) > 1 else "."


def code_lines(source: str, tree: ast.Module) -> int:
    """Return the number of code lines."""
    return len(code_line_numbers(source, tree))


def code_line_numbers(source: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the code lines, from 1."""
    written = {
        at for at, line in enumerate(source.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")
    }
    for node in not_counted(tree):
        written.difference_update(lines_of(node))
    return written


def statements(tree: ast.AST) -> int:
    """Return the number of statements."""
    return len(counted_statements(tree))


def counted_statements(tree: ast.AST) -> set[ast.stmt]:
    """Return the statements that count."""
    return set(walk_statements(tree)) - set(not_counted(tree))


def walk_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield each statement of a tree, the tree itself among them if it is one. Expressions are not searched."""
    if isinstance(node, ast.stmt):
        yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, field, None)
        for child in inner if isinstance(inner, list) else ():
            yield from walk_statements(child)


def lines_of(node: ast.stmt) -> range:
    """Return the numbers of the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def not_counted(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the imports and docstrings of a tree."""
    for node in (tree, *walk_statements(tree)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first


@cache
def size_of_file(path: Path) -> Size:
    """Return the size of one file."""
    tree = parsed(path)
    return Size(code_lines(path.read_text("utf-8"), tree), statements(tree), 1)


def size_of(paths: Iterable[Path]) -> Size:
    """Return the size of several files together."""
    sizes = [size_of_file(path) for path in paths]
    return Size(*(sum(parts) for parts in zip(*sizes, strict=True))) if sizes else Size(0, 0, 0)


def package_sizes() -> dict[str, Size]:
    """Return the size of each package of the core."""
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for path in modules():
        paths[package_of(path)].append(path)
    return {package: size_of(paths[package]) for package in sorted(paths)}


def size_of_functions(places: Mapping[Path, Iterable[int]]) -> Size:
    """Return the size of the functions that begin at these lines, by file. Code inside of two of them counts once."""
    lines = count = 0
    for path, beginnings in places.items():
        tree = parsed(path)
        functions = [
            node
            for node in walk_statements(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and first_line(node) in set(beginnings)
        ]
        within = {line for node in functions for line in range(first_line(node), (node.end_lineno or node.lineno) + 1)}
        lines += len(within & code_line_numbers(path.read_text("utf-8"), tree))
        count += len(set[ast.stmt]().union(*map(counted_statements, functions)))
    return Size(lines, count, len(places))


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line that a code object has as its first: that of the first decorator, if there is one."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])
