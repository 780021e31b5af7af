"""A scenario or a row of the refusal table for every (operation, status, code) of the document, and no tag that it does not know.

A scenario covers the operation that its feature is tagged with, or those in the column ``operation`` of its examples.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_bdd.gherkin_parser import get_gherkin_document

from features.document import Operation, operations
from features.refusals import TABLE

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "features", *sorted(ROOT.glob("plugins/*/features")))
Covered = set[tuple[str, int, str]]


def scenarios() -> Iterator[tuple[set[str], list[str], list[list[str]], list[str]]]:
    """(tags, example columns, example rows, step texts) of every scenario."""
    for path in sorted(path for folder in FOLDERS for path in folder.rglob("*.feature")):
        feature = get_gherkin_document(str(path)).feature
        for child in feature.children:
            scenario = child.scenario
            if scenario is None:
                continue
            tags = {tag.name.lstrip("@") for tag in [*feature.tags, *scenario.tags]}
            columns: list[str] = []
            rows: list[list[str]] = []
            for examples in scenario.examples:
                columns = [cell.value for cell in examples.table_header.cells] if examples.table_header else []
                rows += [[cell.value for cell in row.cells] for row in examples.table_body]
            yield tags, columns, rows, [step.text for step in scenario.steps]


@functools.cache
def covered() -> tuple[Covered, set[tuple[str, int]], set[str]]:
    """Refusals and successes that some scenario ends in, and all tags."""
    refusals: Covered = {(one.operation_id, row.status, row.code) for row in TABLE for one in row.operations()}
    successes: set[tuple[str, int]] = set()
    seen: set[str] = set()
    names = {one.operation_id for one in operations()}
    for tags, columns, rows, steps in scenarios():
        seen |= tags
        about = {tag for tag in tags if tag in names}
        if "operation" in columns:
            about |= {row[columns.index("operation")] for row in rows}
        about |= {word for step in steps for word in re.findall(r"\w+", step) if word in names}
        for step in steps:
            ends = [step]
            if "<status>" in step:
                ends = [step.replace("<status>", row[columns.index("status")]) for row in rows]
            for end in ends:
                refusal = re.fullmatch(r"the answer is (\d{3}) ([A-Z_]+)", end)
                success = re.fullmatch(r"the answer is (\d{3})", end)
                if refusal is not None:
                    refusals |= {(name, int(refusal[1]), refusal[2]) for name in about}
                elif success is not None:
                    successes |= {(name, int(success[1])) for name in about}
    return refusals, successes, seen


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.operation_id)
def test_every_refusal_has_a_scenario(operation: Operation) -> None:
    refusals, _, _ = covered()
    missing = [
        f"{status} {code}"
        for status, codes in operation.refusals.items()
        for code in codes
        if (operation.operation_id, status, code) not in refusals
    ]
    assert missing == []


@pytest.mark.parametrize("operation", operations(), ids=lambda one: one.operation_id)
def test_every_success_has_a_scenario(operation: Operation) -> None:
    # A readiness of 503 has no code of its own: it is the state of a dependency, which no client causes.
    _, successes, _ = covered()
    missing = [s for s in operation.statuses if s < 400 and (operation.operation_id, s) not in successes]
    assert missing == []


def test_no_tag_is_unknown_to_the_document() -> None:
    names = {one.operation_id for one in operations()}
    refusals = {f"{status}:{code}" for one in operations() for status, codes in one.refusals.items() for code in codes}
    _, _, tags = covered()
    assert names | refusals >= tags


def test_a_refusal_tag_is_what_the_scenario_ends_in() -> None:
    for tags, _, _, steps in scenarios():
        for tag in tags:
            status, _, code = tag.partition(":")
            if code:
                assert f"the answer is {status} {code}" in steps


@pytest.mark.parametrize(
    "path",
    sorted(path for folder in FOLDERS for path in folder.rglob("*.py")),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_stories_know_the_service_by_its_document_and_its_client(path: Path) -> None:
    """What steps take from the service they cannot find wrong in it. Plugins of the stories run inside the service."""
    if path.name.endswith("plugin.py"):
        return
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    inside = {name for name in imported if name.split(".")[0] == "identity_core"}
    assert inside == set()
