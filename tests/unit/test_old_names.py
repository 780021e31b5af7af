"""Import paths that plugins for version 1.0 use, such as a prover that ``identity plugins new`` made."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_did_ids import foreign
from identity_did_ids.entry import EntryBody
from identity_kit.conformance.presenting_cases import BoundCase

from identity_bbs.bls12381 import select
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_client import Signer
from identity_client.action import Grant
from identity_client.session import Session
from identity_codec import structs
from identity_codec.deprecation import OldMember
from identity_codec.structs import Types
from identity_core.domain.credentials.attributes import AttributeType, TypedValue
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.old_names import MOVED, new_name
from identity_core.ports.ledger import LogSize
from identity_tlog.note import Note, NoteSignature, VerifierKey

PROGRAMS = {
    "of a prover's template": """
from identity_core.crypto.bbs import core, octets as encoding
from identity_core.crypto.bbs.suite import BbsSignatureInvalid, ciphersuite
from identity_core.crypto.bls12381 import keys, select
from identity_core.crypto.bls12381.keys import InvalidBlsKey
import identity_bbs
assert (core, encoding, keys) == (identity_bbs.core, identity_bbs.encoding, identity_bbs.bls12381.keys)
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
from identity_core.settings.show import ShownSetting
from identity_core.tracing import Tracing
import identity_core.plugin.border
assert ShownSetting.__module__ == "identity_core.settings.load"
assert Tracing is identity_core.plugin.border.Tracing
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


MEMBERS = {
    "encoded": TypedValue(AttributeType.STRING, "x", None),
    "byte_count": LogSize(1, 2),
    "get_bytes": Session("http://127.0.0.1:1"),
    "encode": EntryBody(b"{}", b"{}", "2026-01-01T00:00:00Z"),
}


@pytest.mark.parametrize(("new", "value"), MEMBERS.items(), ids=MEMBERS)
def test_old_member_is_the_new_one_with_a_warning(new: str, value: object) -> None:
    (old,) = (name for name, member in vars(type(value)).items() if isinstance(member, OldMember))
    with pytest.warns(DeprecationWarning, match=rf"{type(value).__name__}\.{old} leaves in 1\.2: use {new}$"):
        assert getattr(value, old) == getattr(value, new)


def test_old_member_of_a_loaded_document() -> None:
    document = DidDocument.load(b"{}")
    (old,) = (name for name, member in vars(DidDocument).items() if isinstance(member, OldMember))
    with pytest.warns(DeprecationWarning, match="use encoded"):
        assert getattr(document, old) == b"{}"


SIGNED = Note("text\n", (NoteSignature("log.example", bytes(4), b""),))
LOG = VerifierKey("log.example", bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))
AGE = ("balance", "gte", 5)
GRANT = Grant("age", "gte", None)
KEYS = {"did": "did:ids:a", "keys": {"recovery": {"privateKey": "z3u2"}}}
SUITE = ciphersuite(select())
WEB = Did.parse("did:web:hana.example"), {"id": "did:web:hana.example"}, datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: Signer.of(KEYS, "recovery"), lambda: Signer.from_keys(KEYS, "recovery")),
        (lambda: GRANT.within(GRANT), lambda: GRANT.is_within(GRANT)),
        (lambda: structs.given(structs.UNSET, 7), lambda: structs.value_or(structs.UNSET, 7)),
        (lambda: Types({}).of({"type": "string"}), lambda: Types({}).build_type({"type": "string"})),
        (lambda: HolderSecret.of(SUITE, bytes(31) + b"\2"), lambda: HolderSecret.from_bytes(SUITE, bytes(31) + b"\2")),
        (lambda: SIGNED.by(LOG), lambda: SIGNED.find_signature(LOG)),
        (lambda: foreign.found(*WEB), lambda: foreign.build_foreign_state(*WEB)),
        (lambda: BoundCase.of(AGE).question, lambda: BoundCase.build(AGE).question),
    ],
    ids=["Signer", "Grant", "given", "Types", "HolderSecret", "Note", "foreign", "BoundCase"],
)
def test_old_names_of_functions_warn_and_return_the_same(old: Callable[[], Any], new: Callable[[], Any]) -> None:
    """`docs/how-to/upgrade.md` lists them."""
    with pytest.warns(DeprecationWarning, match=r"leaves in 1\.2: call \w+$"):
        found = old()
    assert found == new()


def test_the_service_imports_no_old_name() -> None:
    program = "import sys, identity_core.bootstrap.app, identity_core.cli.serve; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "identity_bbs.suite" in modules
    assert [name for name in modules if new_name(name)] == []


def test_old_name_of_an_absent_distribution_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOVED, "identity_core.gone", "identity_absent.gone")
    with pytest.raises(
        ImportError, match=r"identity_core\.gone is identity_absent\.gone now: in a checkout pip install \."
    ):
        importlib.import_module("identity_core.gone")


def test_moved_names_are_in_the_order_that_the_finder_needs() -> None:
    """A package before one inside it would hide the entry of the inner one."""
    names = list(MOVED)
    assert [a for at, a in enumerate(names) for b in names[:at] if a.startswith(f"{b}.")] == []
