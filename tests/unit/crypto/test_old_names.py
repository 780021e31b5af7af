"""Import paths that plugins for version 1.0 use, such as a prover that ``identity plugins new`` made."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAMS = {
    "of a prover's template": """
from identity_core.crypto.bbs import core, octets
from identity_core.crypto.bbs.suite import BbsSignatureInvalid, ciphersuite
from identity_core.crypto.bls12381 import keys, select
from identity_core.crypto.bls12381.keys import InvalidBlsKey
import identity_bbs
assert (core, octets, keys) == (identity_bbs.core, identity_bbs.octets, identity_bbs.bls12381.keys)
assert (BbsSignatureInvalid, InvalidBlsKey) == (identity_bbs.suite.BbsSignatureInvalid, keys.InvalidBlsKey)
assert ciphersuite(select()) is identity_bbs.suite.ciphersuite(identity_bbs.bls12381.select())
""",
    "of modules one by one": """
import identity_core.crypto.bbs.blind as blind
import identity_core.crypto.bls12381.backend as backend
import identity_bbs.blind, identity_bbs.bls12381.backend
assert blind is identity_bbs.blind and backend is identity_bbs.bls12381.backend
""",
    "of frames": """
from identity_core.crypto.frames import frame, number, optional, scalar
assert scalar(1) == bytes(31) + b"\\1"
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_old_names_are_those_of_the_library(program: str) -> None:
    done = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "DeprecationWarning" in done.stderr


def test_the_service_imports_no_old_name() -> None:
    program = "import sys, identity_core.bootstrap.app, identity_core.cli.serve; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "identity_bbs.suite" in modules
    assert {f"identity_core.crypto.{name}" for name in ("bbs", "bls12381", "frames")}.isdisjoint(modules)
