"""The measures of the architecture: sizes, imports of extensions, call paths, and what a name leads to.

    python -m tests.architecture.measure

prints all of them: the value, the limit now, and the targets of ``targets.toml``. README.md says what each counts.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson

from tests.architecture import language
from tests.architecture.imports import KERNEL, destinations, extension_imports, module_circles, name_of
from tests.architecture.sizes import (
    CORE,
    ROOT,
    Size,
    lines_of,
    modules,
    not_counted,
    package_sizes,
    shipped,
    size_of,
    size_of_file,
)

# No identifier may contain one: a private language is one that a newcomer has to learn.
PRIVATE_WORDS = ("desk", "house", "staff", "vault", "bell", "sight", "office", "dice", "whoever")
SAME_LINES = 6
# The first words of docstrings that the measure counts; the rule of ``language`` has more.
RELATIVE_WORDS = frozenset({"what", "who", "where", "of", "those", "that"})


@dataclass(frozen=True)
class Target:
    """The limits of one measure: ``now`` is tested, ``step_9`` and ``done`` are where it must arrive."""

    now: int
    done: int
    step_9: int | None = None


@cache
def targets() -> dict[str, Target]:
    """Return the table of ``targets.toml``."""
    table = tomllib.loads((Path(__file__).parent / "targets.toml").read_text("utf-8"))
    return {name: Target(**limits) for name, limits in table.items()}


@cache
def trees() -> dict[str, ast.Module]:
    """Return the modules of the core by name, without ``identity_core.``."""
    return {name_of(path.relative_to(CORE)): tree for path, tree in modules().items()}


def kernel() -> Size:
    """Return the size of the kernel: the whole core, until modules move."""
    return size_of(shipped("identity_core"))


def everything() -> Size:
    """Return the size of kernel, packages and plugins without their tests."""
    return size_of([*shipped("identity_core"), *shipped("packages"), *shipped("plugins")])


# Measures that are read from the code; ``test_measures.py`` tests each. Those of call paths are in ``path_measures``.
MEASURES: dict[str, Callable[[], int]] = {
    "kernel_lines": lambda: kernel().lines,
    "kernel_files": lambda: kernel().files,
    "all_lines": lambda: everything().lines,
    "packages_lines": lambda: size_of(shipped("packages")).lines,
    "packages_largest_file": lambda: max(size_of_file(path).lines for path in shipped("packages")),
    "extension_imports": lambda: len(extension_imports(trees(), destinations())),
    "circles": lambda: len(module_circles(trees())),
    "relative_docstrings": lambda: len(language.wrong_docstrings(RELATIVE_WORDS)),
}
PATHS = {"create": "createDid", "proof": "generateDelegatedProof of suite 1"}


def path_measures() -> dict[str, int]:
    """Return the measures of call paths: a whole installation is opened for them."""
    from tests.architecture.call_paths import call_paths

    found = {}
    for short, operation in PATHS.items():
        path = call_paths()[operation]
        found[f"{short}_lines"], found[f"{short}_files"] = path.size.lines, path.size.files
        found[f"{short}_statements"], found[f"{short}_commits"] = path.statements, path.commits
    return found


def extension_sizes() -> dict[str, Size]:
    """Return the size of what moves to each distribution, and of the kernel that stays."""
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for path in modules():
        paths[destinations().find_distribution(name_of(path.relative_to(CORE)))].append(path)
    return {name: size_of(paths[name]) for name in [*destinations().extensions, *destinations().libraries, KERNEL]}


def repeated_classes() -> dict[str, list[str]]:
    """Class names that more than one module has, with the modules."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(CORE)))
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def private_words() -> dict[str, int]:
    """How many identifiers and module names have each private word in them; one that stands in many places counts once."""
    names: set[str] = set()
    for path, tree in modules().items():
        names.add(path.stem)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    parts = [_words(name) for name in names]
    return {word: sum(word in each for each in parts) for word in PRIVATE_WORDS}


def _words(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def operations() -> dict[str, str]:
    """Each operationId of the document with its tag."""
    paths = orjson.loads((CORE / "api" / "identity.json").read_bytes())["paths"]
    each = (one for path in paths.values() for one in path.values() if isinstance(one, dict) and "operationId" in one)
    return {one["operationId"]: one["tags"][0] for one in each}


def guessable() -> dict[str, tuple[bool, bool, bool]]:
    """Return for each operation whether its handler, its use case and its feature are where its name says."""
    found = {}
    for operation_id, tag in operations().items():
        snake = re.sub(r"(?<!^)([A-Z])", r"_\1", operation_id).lower()
        handler = snake in _defined(CORE / "api", tag, ast.FunctionDef | ast.AsyncFunctionDef)
        use_case = operation_id[0].upper() + operation_id[1:] in _defined(CORE / "use_cases", tag, ast.ClassDef)
        found[operation_id] = (handler, use_case, (ROOT / "features" / tag / f"{snake}.feature").exists())
    return found


@cache
def _defined(package: Path, tag: str, kind: type) -> frozenset[str]:
    """Names that the module or the folder of a tag defines."""
    inside = (
        tree for path, tree in modules().items() if path == package / f"{tag}.py" or package / tag in path.parents
    )
    return frozenset(node.name for tree in inside for node in ast.walk(tree) if isinstance(node, kind))


def repeated_lines() -> list[tuple[str, str]]:
    """Pairs of modules that have the same six lines of code in a row; imports do not count."""
    runs: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for path, tree in modules().items():
        skipped = {line for node in not_counted(tree) for line in lines_of(node)}
        text = [line.strip() for at, line in enumerate(path.read_text().splitlines(), 1) if at not in skipped]
        kept = [line for line in text if line and not line.startswith("#")]
        for at in range(len(kept) - SAME_LINES + 1):
            runs[tuple(kept[at : at + SAME_LINES])].add(str(path.relative_to(CORE)))
    return sorted({(a, b) for where in runs.values() for a in where for b in where if a < b})


def print_sizes(title: str, sizes: dict[str, Size]) -> None:
    """Print a table of sizes, the last row of which is their sum."""
    print(f"{title:20} {'lines':>9} {'statements':>11} {'files':>6}")
    together = Size(*(sum(parts) for parts in zip(*sizes.values(), strict=True)))
    for name, size in [*sizes.items(), ("all", together)]:
        print(f"{name:20} {size.lines:9,} {size.statements:11,} {size.files:6,}")
    print()


def print_targets(values: dict[str, int]) -> None:
    """Print each measure with its limit and targets."""
    print(f"{'measure':22} {'value':>8} {'limit now':>10} {'step 9':>8} {'done':>8}")
    for name, target in targets().items():
        step_9 = "-" if target.step_9 is None else f"{target.step_9:,}"
        print(f"{name:22} {values[name]:8,} {target.now:10,} {step_9:>8} {target.done:8,}")
    print()


def main() -> None:
    """Print every measure."""
    from tests.architecture.call_paths import call_paths

    print_sizes("package", package_sizes())
    print_sizes("folder", {folder: size_of(shipped(folder)) for folder in ("identity_core", "packages", "plugins")})
    print_sizes("moves to", extension_sizes())
    imported = Counter(
        destinations().find_distribution(one.imported) for one in extension_imports(trees(), destinations())
    )
    print("names that the kernel imports:", ", ".join(f"{name} {count}" for name, count in imported.most_common()))
    print("circles:", "; ".join(" - ".join(circle) for circle in module_circles(trees())), end="\n\n")
    for name, path in call_paths().items():
        print(
            f"{name}: {path.size.lines:,} lines, {path.size.statements:,} statements of code, {path.size.files} files,"
        )
        print(f"    {path.statements} statements and {path.commits} commits of the database;")
        print(f"    in the core {path.files} files, {path.functions} functions,", end=" ")
        print(f"elsewhere {path.plugin_files} files, {path.plugin_functions} functions")
    print()
    print_targets({name: count() for name, count in MEASURES.items()} | path_measures())
    places = guessable()
    for at, what in enumerate(("handler", "use case", "feature")):
        print(f"operations whose {what} can be guessed: {sum(each[at] for each in places.values())} of {len(places)}")
    print(f"operations whose three places can be guessed: {sum(map(all, places.values()))} of {len(places)}")
    classes = repeated_classes()
    public = [name for name in classes if not name.startswith("_")]
    print(f"class names in two modules: {len(classes)}, public {len(public)}: {', '.join(public)}")
    print(f"identifiers with a private word: {private_words()}")
    print(f"pairs of modules with {SAME_LINES} equal lines in a row: {len(repeated_lines())}")


if __name__ == "__main__":
    main()
