"""Import paths that plugins for version 1.0 use, such as a prover that ``identity plugins new`` made."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from identity_core.old_names import MOVED, new_name

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
    "of encodings and keys": """
from identity_core.codec import multibase
from identity_core.codec.structs import plain
from identity_core.crypto import ed25519
import identity_core.domain.jose as jose
from identity_core.values import value_class
import identity_codec.values
assert (multibase, ed25519, jose) == (identity_codec.multibase, identity_codec.ed25519, identity_codec.jose)
assert value_class is identity_codec.values.value_class and plain is identity_codec.structs.plain
assert ed25519.__spec__.name == "identity_codec.ed25519"
""",
    "of the conformance kit": """
from identity_core.conformance import did_method
import identity_kit.conformance.did_method
assert did_method is identity_kit.conformance.did_method
""",
    "of the client": """
from identity_core.client import Identity, Signer, ibct
from identity_core.client.session import ServiceError
import identity_client, identity_client.ibct, identity_client.session
assert (Identity, Signer, ibct) == (identity_client.Identity, identity_client.Signer, identity_client.ibct)
assert ServiceError is identity_client.session.ServiceError
""",
    "of modules of the kernel": """
from identity_core.extension.installation import InstallationCheck
from identity_core.extension.order import in_order
from identity_core.settings.show import ShownSetting
from identity_core.tracing import Tracing
import identity_core.extension.choice, identity_core.extension.declaration
assert InstallationCheck is identity_core.extension.declaration.InstallationCheck
assert in_order is identity_core.extension.choice.in_order
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
    assert [name for name in modules if new_name(name)] == []


def test_old_name_of_an_absent_distribution_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOVED, "identity_core.gone", "identity_absent.gone")
    with pytest.raises(
        ImportError, match=r"identity_core\.gone is identity_absent\.gone now: pip install identity-absent"
    ):
        importlib.import_module("identity_core.gone")


def test_moved_names_are_in_the_order_that_the_finder_needs() -> None:
    """A package before one inside it would hide the entry of the inner one."""
    names = list(MOVED)
    assert [a for at, a in enumerate(names) for b in names[:at] if a.startswith(f"{b}.")] == []
