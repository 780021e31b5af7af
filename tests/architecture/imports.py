"""The import graph of ``identity_core``: names that kernel modules import from extensions, and circles between modules."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.architecture.sizes import walk_statements

HERE = Path(__file__).parent
KERNEL = "kernel"
Trees = Mapping[str, ast.Module]


@dataclass(frozen=True)
class Import:
    """One imported name: the module that imports, and the module that the name is from."""

    importer: str
    imported: str
    name: str


@dataclass(frozen=True)
class Destinations:
    """The table of ``extensions.toml``: distribution to patterns, of extensions and of libraries."""

    extensions: Mapping[str, list[str]]
    libraries: Mapping[str, list[str]]

    def list_distributions(self, module: str) -> list[str]:
        """Return each distribution with a pattern that matches ``module``."""
        both = {**self.extensions, **self.libraries}
        return [name for name, patterns in both.items() if any(matches(module, each) for each in patterns)]

    def find_distribution(self, module: str) -> str:
        """Return the distribution of ``module``; ``kernel`` where no pattern matches."""
        return next(iter(self.list_distributions(module)), KERNEL)


def matches(module: str, pattern: str) -> bool:
    """Return whether ``pattern`` names ``module`` or a package that contains it."""
    return fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}.*")


def name_of(path: Path) -> str:
    """Return the name of a module by its path below ``identity_core``, with ``__init__`` for a package's own module."""
    return ".".join(path.with_suffix("").parts)


@cache
def destinations() -> Destinations:
    """Return the table of ``extensions.toml``."""
    table = tomllib.loads((HERE / "extensions.toml").read_text("utf-8"))
    return Destinations(table["extensions"], table["libraries"])


def imports(trees: Trees, root: str = "identity_core") -> Iterator[Import]:
    """Yield every name that a module imports from another module of ``trees``, at any depth of its code.

    Imports in functions and under ``TYPE_CHECKING`` are among them.

    ``trees`` maps names without ``root`` to syntax trees. A package's own module is named ``<package>.__init__``.
    """
    for importer, tree in trees.items():
        for node in walk_statements(tree):
            for base, name in _imported(node, importer, root):
                module = _module(trees, f"{base}.{name}".strip(".")) or _module(trees, base)
                if module and module != importer:
                    yield Import(importer, module, name)


def _imported(node: ast.AST, importer: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of one import statement, both without ``root``."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == root:
                yield alias.name.removeprefix(root).strip("."), ""
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            base = ".".join([*importer.split(".")[: -node.level], *filter(None, [node.module])])
        elif node.module and node.module.split(".")[0] == root:
            base = node.module.removeprefix(root).strip(".")
        else:
            return
        for alias in node.names:
            yield base, alias.name


def _module(trees: Trees, name: str) -> str | None:
    return next((each for each in (name, f"{name}.__init__".strip(".")) if each in trees), None)


def extension_imports(trees: Trees, table: Destinations) -> list[Import]:
    """Return the names that kernel modules import from modules of extensions."""
    homes = {module: table.find_distribution(module) for module in trees}
    return [one for one in imports(trees) if homes[one.importer] == KERNEL and homes[one.imported] in table.extensions]


def circles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one module, each in order of names."""
    after: defaultdict[str, set[str]] = defaultdict(set)
    for start, end in edges:
        after[start].add(end)
    reached = {start: _reached(after, start) for start in list(after)}
    groups = {
        frozenset(other for other in ends if start in reached.get(other, ()))
        for start, ends in reached.items()
        if start in ends
    }
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reached(after: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for end in after.get(waiting.pop(), ()):
            if end not in found:
                found.add(end)
                waiting.append(end)
    return found


def module_circles(trees: Trees) -> list[list[str]]:
    """Return the circles of imports, those inside of functions and those for a type checker among them."""
    return circles((one.importer, one.imported) for one in imports(trees))
