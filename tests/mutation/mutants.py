"""Mutants of source files: one small change each, by the operators of cosmic-ray and one of our own."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator, operator_names
from parso.python.tree import Keyword

SAME = ("_Eq_Is", "_NotEq_IsNot")
"""Operators whose mutants are the original: equal small numbers and short texts are one object."""


class RemoveCall(Operator):
    """Replaces a statement that only calls something, such as a check, with `pass`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        calls = node.type in ("atom_expr", "power") and node.children[-1].type == "trailer"
        if calls and node.parent.type == "simple_stmt" and node.children[-1].children[0] == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Keyword:
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("check(x)\n", "pass\n"),)


@dataclass(frozen=True)
class Mutant:
    """The text of one file after one change."""

    path: Path
    source: str
    text: str

    @property
    def line(self) -> int:
        """First line that differs."""
        pairs = zip(self.source.splitlines(), self.text.splitlines(), strict=False)
        return next(number for number, (was, now) in enumerate(pairs, 1) if was != now)

    @property
    def change(self) -> list[str]:
        """Lines taken away (-) and put in (+), without their indentation."""
        lines = difflib.unified_diff(self.source.splitlines(), self.text.splitlines(), lineterm="", n=0)
        return [f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if not line.startswith("@@")]


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _meaning(text: str) -> str:
    """What the interpreter does with a text. Annotations are not evaluated (PEP 563, which every file asks for)."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in {"annotation", "returns"}.intersection(node._fields):
            setattr(node, field, ast.Constant(None) if isinstance(node, ast.AnnAssign) else None)
    return ast.dump(tree)


def sample(folders: list[Path], seed: int) -> Iterator[Mutant]:
    """One mutant of each place that can be changed, places and changes in an order that the seed decides.

    By place, because a comparison has eight mutants that nearly any test kills, and a number two that few do.
    """
    names = (name for name in sorted(operator_names()) if not name.endswith(SAME))
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
        operator, occurrence = chance.choice(places[path, place])
        text = mutate_code(source, operator, occurrence)
        if _compiles(text) and _meaning(text) != _meaning(source):
            yield Mutant(path, source, text)
