"""The import path of version 1.0, and a service without this distribution."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from identity_kit import conformance

UPGRADE = Path(__file__).parents[3] / "docs/how-to/upgrade.md"
ROW = re.compile(r"^\| `(\w+)` \| `(test_\w+)` \| `(test_\w+)` \|$", re.MULTILINE)

SAME = """
from identity_core.conformance.ledger import LedgerConformance
import identity_core.conformance.prover as prover
import identity_kit.conformance.ledger, identity_kit.conformance.prover
assert LedgerConformance is identity_kit.conformance.ledger.LedgerConformance
assert prover is identity_kit.conformance.prover
"""
ABSENT = """
import sys
sys.modules["identity_kit"] = None
import identity_core.bootstrap.app, identity_core.cli.serve
import identity_core.conformance.ledger
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=False)


def test_old_names_are_the_modules_of_the_kit() -> None:
    done = run(SAME)
    assert done.returncode == 0, done.stderr
    assert "leaves in 1.2: import identity_kit.conformance" in done.stderr


def test_old_name_names_the_remedy_without_the_kit() -> None:
    done = run(ABSENT)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: identity_core.conformance is identity_kit.conformance now: "
        "in a checkout pip install . ./packages/*/ ./plugins/*/"
    )


def test_upgrade_page_lists_tests_under_their_new_names() -> None:
    modules = [
        importlib.import_module(each.name)
        for each in pkgutil.iter_modules(conformance.__path__, "identity_kit.conformance.")
    ]
    rows = ROW.findall(UPGRADE.read_text())
    assert len(rows) == 19
    for owner, old, new in rows:
        kit = next(getattr(module, owner) for module in modules if hasattr(module, owner))
        assert (hasattr(kit, old), hasattr(kit, new)) == (False, True), (owner, old, new)
