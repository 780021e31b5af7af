"""Pages about attacks: every test that they name exists, so that a promise cannot outlive its test."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THREAT_MODEL = "docs/explanation/threat-model.md"
PAGES = (THREAT_MODEL, "tests/attack/README.md")
FILE = r"[\w./-]*test_\w+\.py"
# `file.py`, `file.py::test_name`, and `test_name` after a file that was named before it.
NAMED = re.compile(rf"`(?:({FILE})(?:::(test_\w+))?|(test_\w+))`")


@cache
def functions_of(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    found = (node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


def places(name: str) -> list[Path]:
    """Return the files that a page names: from the root, or anywhere below tests/attack and the tests of a plugin."""
    if "/" in name and (ROOT / name).exists():
        return [ROOT / name]
    folders = [ROOT / "tests" / "attack", *ROOT.glob("plugins/*/tests")]
    return [path for each in folders for path in each.rglob(Path(name).name) if str(path).endswith(f"/{name}")]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    missing, named = [], 0
    for line in (ROOT / page).read_text().splitlines():
        found: list[Path] = []
        for file, test, alone in NAMED.findall(line):
            named += 1
            if file:
                found = places(file)
                if not found:
                    missing.append(file)
            test = test or alone
            if test and not any(test in functions_of(path) for path in found):
                missing.append(f"{file or 'the file before'}::{test}")
    assert missing == []
    assert named > 20


def test_every_adversary_has_a_risk_a_protection_and_tests() -> None:
    adversaries = (ROOT / THREAT_MODEL).read_text().partition("\n## What is not promised")[0].split("\n### ")[1:]
    assert len(adversaries) >= 30
    for part in ("**Remaining risk.** ", "**Protection.**", "**Tests.**"):
        assert [text.partition("\n")[0] for text in adversaries if text.count(f"\n{part}") != 1] == []
    assert [text.partition("\n")[0] for text in adversaries if not NAMED.search(text.partition("**Tests.**")[2])] == []
