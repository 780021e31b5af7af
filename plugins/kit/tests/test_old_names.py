"""The import path of version 1.0, and a service without this distribution."""

from __future__ import annotations

import subprocess
import sys

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
        "ImportError: identity_core.conformance is identity_kit.conformance now: pip install identity-kit"
    )
