"""Limits of the measures that are read from the code, and that each counter counts what README.md says."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.imports import (
    Destinations,
    circles,
    destinations,
    extension_imports,
    imports,
    matches,
    module_circles,
)
from tests.architecture.measure import MEASURES, PATHS, kernel, targets, trees
from tests.architecture.sizes import ROOT, package_sizes, shipped

FEWEST_MODULES = {"identity_core": 170, "packages": 30, "plugins": 100}


@pytest.mark.parametrize("measure", MEASURES)
def test_measure_is_within_its_limit(measure: str) -> None:
    assert MEASURES[measure]() <= targets()[measure].now


def test_every_target_has_a_measure() -> None:
    paths = {f"{short}_{kind}" for short in PATHS for kind in ("lines", "files", "statements", "commits")}
    assert targets().keys() == MEASURES.keys() | paths


def test_targets_only_fall() -> None:
    for target in targets().values():
        assert target.done <= (target.done if target.step_9 is None else target.step_9)


@pytest.mark.parametrize("folder", FEWEST_MODULES)
def test_shipped_files_are_found(folder: str) -> None:
    """A counter that finds no file would hold every limit."""
    names = {path.relative_to(ROOT).as_posix() for path in shipped(folder)}
    assert len(names) >= FEWEST_MODULES[folder]
    assert [name for name in names if "/tests/" in name or "plugin_templates" in name or "egg-info" in name] == []


def test_packages_add_up_to_the_kernel() -> None:
    sizes = package_sizes().values()
    assert tuple(map(sum, zip(*sizes, strict=True))) == kernel()


def test_every_pattern_of_an_extension_matches_a_module() -> None:
    table = destinations()
    patterns = [each for group in (table.extensions, table.libraries) for many in group.values() for each in many]
    assert [each for each in patterns if not any(matches(module, each) for module in trees())] == []
    assert len(patterns) == len(set(patterns))


def test_no_module_moves_to_two_extensions() -> None:
    found = {module: destinations().list_distributions(module) for module in trees()}
    assert {module: names for module, names in found.items() if len(names) > 1} == {}


@pytest.mark.parametrize(
    ("module", "pattern", "expected"),
    [
        ("api.audit", "api.audit", True),
        ("api.audits", "api.audit", False),
        ("backup.__init__", "backup", True),
        ("domain.proofs.proof", "domain.proofs", True),
        ("cli.ledger_show", "cli.ledger*", True),
        ("cli.ledger", "cli.ledger*", True),
        ("api.ledger", "ledger", False),
        ("api.__init__", "api.a*", False),
    ],
)
def test_pattern_matches_modules_and_what_packages_contain(module: str, pattern: str, expected: bool) -> None:
    assert matches(module, pattern) is expected


SOURCES = {
    "__init__": "",
    "a": "from identity_core.x import one, two\nfrom identity_core import errors\nimport os, identity_core.y",
    "b": "def f():\n    if True:\n        from identity_core.x import one\n",
    "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from identity_core.p import x\n",
    "errors": "from identity_core_of_others import a\nfrom os import path",
    "p.__init__": "from identity_core.p.inner import f as g",
    "p.inner": "from . import x\nfrom .x import thing\nfrom .. import b",
    "p.x": "try:\n    pass\nexcept OSError:\n    from identity_core.a import f\n",
    "x": "from identity_core.b import f",
    "y": "import identity_core.p\nfrom identity_core.lib import f",
    "lib": "",
}
SMALL = {name: ast.parse(source) for name, source in SOURCES.items()}


def test_imports_are_found_at_any_depth_and_in_any_form() -> None:
    found = [(one.importer, one.imported, one.name) for one in imports(SMALL)]
    assert found == [
        ("a", "x", "one"),
        ("a", "x", "two"),
        ("a", "errors", "errors"),
        ("a", "y", ""),
        ("b", "x", "one"),
        ("c", "p.x", "x"),
        ("p.__init__", "p.inner", "f"),
        ("p.inner", "p.x", "x"),
        ("p.inner", "p.x", "thing"),
        ("p.inner", "b", "b"),
        ("p.x", "a", "f"),
        ("x", "b", "f"),
        ("y", "p.__init__", ""),
        ("y", "lib", "f"),
    ]


def test_names_of_extensions_count_in_kernel_modules_only() -> None:
    """Kernel to extension counts for each name; extension to kernel, within an extension, and kernel to library do not."""
    table = Destinations({"first": ["x"], "second": ["p"]}, {"library": ["lib"]})
    found = [(one.importer, one.name) for one in extension_imports(SMALL, table)]
    assert found == [("a", "one"), ("a", "two"), ("b", "one"), ("c", "x"), ("y", "")]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("", []),
        ("ab bc ac", []),
        ("aa ab", []),
        ("ab ba", [["a", "b"]]),
        ("ab bc ca cd", [["a", "b", "c"]]),
        ("ab ba bc cd dc", [["a", "b"], ["c", "d"]]),
        ("ab ba bc cb", [["a", "b", "c"]]),
    ],
)
def test_circles_are_the_strongly_connected_components(edges: str, expected: list[list[str]]) -> None:
    assert circles((edge[0], edge[1]) for edge in edges.split()) == expected


def test_circle_through_a_function_and_a_type_import_is_found() -> None:
    sources = {
        "a": "def f():\n    from identity_core.b import g",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from identity_core.a import f",
        "c": "from identity_core.a import f",
    }
    assert module_circles({name: ast.parse(source) for name, source in sources.items()}) == [["a", "b"]]
