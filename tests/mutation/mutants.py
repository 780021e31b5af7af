"""Mutants of source files: one small change each, by the operators of cosmic-ray and one of our own."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from parso.python.tree import Keyword

# Equal small numbers and short texts are one object: these operators change nothing.
SAME = ("_Eq_Is", "_NotEq_IsNot")


class RemoveCall(Operator):
    """Replaces a statement that only calls something, such as a check, with ``pass``."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        is_alone = node.type in ("atom_expr", "power") and node.parent.type == "simple_stmt"
        if is_alone and node.children[-1].type == "trailer" and node.children[-1].children[0] == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Keyword:
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class Mutant(NamedTuple):
    """The text of one file after one change; ``change`` are the lines taken away (-) and put in (+), from ``line`` on."""

    path: Path
    source: str
    text: str
    line: int
    change: list[str]


def _mutant(path: Path, source: str, text: str) -> Mutant | None:
    """None where the interpreter does the same as before, or nothing: annotations are not evaluated (PEP 563)."""
    try:
        if _meaning(text) == _meaning(source):
            return None
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    before, after = source.splitlines(), text.splitlines()
    line = next(number for number, (was, now) in enumerate(zip(before, after, strict=False), 1) if was != now)
    diff = [one for one in difflib.unified_diff(before, after, n=0) if one[0] in "+-" and one[:3] not in ("+++", "---")]
    return Mutant(path, source, text, line, [f"{one[0]} {one[1:].strip()}" for one in diff])


def _changed(source: str, operator: Operator, occurrence: int) -> str:
    try:
        return mutate_code(source, operator, occurrence)
    except AttributeError:  # cosmic-ray cannot replace an exception with a dotted name among several
        return source


def _meaning(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in {"annotation", "returns"}.intersection(node._fields):
            setattr(node, field, ast.Constant(None))
    return ast.dump(tree)


def sample(folders: list[Path], seed: int) -> Iterator[Mutant]:
    """One mutant of each place that can be changed; the seed decides the order of the places, and which change.

    By place, because a comparison has eight mutants that nearly any test kills, and a number two that few do.
    """
    names = [name for name in sorted(operator_names()) if not name.endswith(SAME)]
    operators = [kind() for kind in map(get_operator, names) if not kind.arguments()]
    places: dict[tuple[Path, Any], list[tuple[Operator, int]]] = {}
    for path in sorted(file for folder in folders for file in folder.rglob("*.py")):
        nodes = list(ast_nodes(get_ast(path.read_text())))
        for operator in [*operators, RemoveCall()]:
            found = (place for node in nodes for place in operator.mutation_positions(node))
            for occurrence, place in enumerate(found):
                places.setdefault((path, place), []).append((operator, occurrence))
    chance = random.Random(seed)
    for path, place in chance.sample(list(places), len(places)):
        source = path.read_text()
        found_mutant = _mutant(path, source, _changed(source, *chance.choice(places[path, place])))
        if found_mutant is not None:
            yield found_mutant
