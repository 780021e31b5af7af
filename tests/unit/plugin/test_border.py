"""The border of plain ports: foreign exceptions and junk, also from a drafted entry."""

from __future__ import annotations

import pytest

from identity_core.domain.dids.changes import Deactivate
from identity_core.errors import InvalidDid, InvalidDocument, PluginUnavailable, QuotaExceeded
from identity_core.plugin.border import guard as bordered
from identity_core.plugin.sockets import DID_METHOD
from identity_core.ports.did_method import DidMethod
from tests.unit.plugin.parts import DID, NOW, STATE, GoodEntry, GoodMethod, bulkhead

CHANGE = Deactivate(None)  # type: ignore[arg-type]


def behind(method: object) -> DidMethod:
    return bordered(method, DidMethod, bulkhead(DID_METHOD))  # type: ignore[return-value]


def test_a_good_method_behaves_as_without_the_border() -> None:
    method = behind(GoodMethod())
    assert isinstance(method, DidMethod)
    assert (method.name, method.mutable) == ("toy", True)
    method.check(DID)
    draft = method.draft(None, CHANGE, NOW, signer="z6Mk")
    assert (draft.did, draft.signing_input, draft.sealed(b"s")) == (DID, b"entry", b"entrys")
    assert method.apply(None, b"") is STATE
    assert method.expand(DID) is None


@pytest.mark.parametrize("error", [InvalidDid(), InvalidDocument()])
def test_errors_of_the_contract_pass(error: Exception) -> None:
    class Refuses(GoodMethod):
        def check(self, did):
            raise error

    with pytest.raises(type(error)):
        behind(Refuses()).check(DID)


@pytest.mark.parametrize(
    "error", [ValueError("x"), QuotaExceeded(), StopIteration(), RecursionError(), SystemExit(3), GeneratorExit()]
)
def test_anything_else_is_unavailability(error: BaseException) -> None:
    class Raises(GoodMethod):
        def apply(self, state, entry):
            raise error

    with pytest.raises(PluginUnavailable):
        behind(Raises()).apply(None, b"")


def test_an_interrupt_from_the_keyboard_passes() -> None:
    class Interrupted(GoodMethod):
        def check(self, did):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        behind(Interrupted()).check(DID)


def test_junk_is_refused_where_it_comes_out() -> None:
    class Junk(GoodMethod):
        name = 7

        def draft(self, state, change, at, *, signer):
            return b"entry"

        def apply(self, state, entry):
            return None

        def expand(self, did):
            return "document"

    method = behind(Junk())
    with pytest.raises(PluginUnavailable):
        _ = method.name
    with pytest.raises(PluginUnavailable):
        method.draft(None, CHANGE, NOW, signer="")
    with pytest.raises(PluginUnavailable):
        method.apply(None, b"")
    with pytest.raises(PluginUnavailable):
        method.expand(DID)


def test_a_drafted_entry_stands_behind_the_border_too() -> None:
    class Trap(GoodEntry):
        def sealed(self, signature):
            raise ZeroDivisionError

    class Late(GoodMethod):
        def draft(self, state, change, at, *, signer):
            return Trap(DID, b"entry")

    draft = behind(Late()).draft(None, CHANGE, NOW, signer="")
    assert draft.signing_input == b"entry"
    with pytest.raises(PluginUnavailable):
        draft.sealed(b"")
