"""The figures of the core's design: how much code there is, what a request walks through, and what a newcomer can guess.

    python -m tests.house.measure

prints all of them; ``test_size.py``, ``test_walks.py`` and ``test_names.py`` hold them. Code lines are those without blanks,
comments, docstrings and imports.
What a change costs in files is found by making the change; times are those of ``tox`` and ``tools/bench``.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "identity_core"
# No identifier may contain one: a private language is one that a newcomer has to learn.
PRIVATE_WORDS = ("desk", "house", "staff", "vault", "bell", "sight", "office", "dice", "whoever")
SAME_LINES = 6


@cache
def modules() -> dict[Path, ast.Module]:
    """Every module of the core."""
    return {
        path: ast.parse(path.read_text()) for path in sorted(CORE.rglob("*.py")) if "plugin_templates" not in path.parts
    }


def room_of(path: Path) -> str:
    """The folder below the core that a module is in; ``.`` for the core's own modules."""
    parts = path.relative_to(CORE).parts
    return parts[0] if len(parts) > 1 else "."


def code_lines(source: str, tree: ast.Module) -> int:
    """How many lines carry code."""
    written = {
        at for at, line in enumerate(source.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")
    }
    for node in _not_counted(tree):
        written.difference_update(_lines(node))
    return len(written)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _not_counted(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
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
def size() -> tuple[dict[str, int], dict[str, int]]:
    """Code lines and files of each room."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path, tree in modules().items():
        lines[room_of(path)] += code_lines(path.read_text(), tree)
        files[room_of(path)] += 1
    return dict(sorted(lines.items())), dict(sorted(files.items()))


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
    """Of each operation: whether its handler, its use case and its feature are where the name says."""
    found = {}
    for operation_id, tag in operations().items():
        snake = re.sub(r"(?<!^)([A-Z])", r"_\1", operation_id).lower()
        handler = snake in _defined(CORE / "api", tag, ast.FunctionDef | ast.AsyncFunctionDef)
        use_case = operation_id[0].upper() + operation_id[1:] in _defined(CORE / "use_cases", tag, ast.ClassDef)
        found[operation_id] = (handler, use_case, (ROOT / "features" / tag / f"{snake}.feature").exists())
    return found


@cache
def _defined(room: Path, tag: str, kind: type) -> frozenset[str]:
    """Names that the module or the folder of a tag defines."""
    inside = (tree for path, tree in modules().items() if path == room / f"{tag}.py" or room / tag in path.parents)
    return frozenset(node.name for tree in inside for node in ast.walk(tree) if isinstance(node, kind))


def repeated_lines() -> list[tuple[str, str]]:
    """Pairs of modules that have the same six lines of code in a row; imports do not count."""
    runs: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for path, tree in modules().items():
        skipped = {line for node in _not_counted(tree) for line in _lines(node)}
        text = [line.strip() for at, line in enumerate(path.read_text().splitlines(), 1) if at not in skipped]
        kept = [line for line in text if line and not line.startswith("#")]
        for at in range(len(kept) - SAME_LINES + 1):
            runs[tuple(kept[at : at + SAME_LINES])].add(str(path.relative_to(CORE)))
    return sorted({(a, b) for where in runs.values() for a in where for b in where if a < b})


def main() -> None:
    """Prints every figure."""
    from tests.house.walks import walks

    lines, files = size()
    print("room            code lines  files")
    for room in lines:
        print(f"{room:15} {lines[room]:10,}  {files[room]:5}")
    print(f"{'all':15} {sum(lines.values()):10,}  {sum(files.values()):5}")
    for name, walk in walks().items():
        print(
            f"{name}: {walk.files} files, {walk.functions} functions, {walk.objects} domain objects of {walk.classes} classes,"
        )
        print(f"    and in plugins {walk.plugin_files} files, {walk.plugin_functions} functions")
        print(f"    {walk.statements} statements, {walk.commits} commits")
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
