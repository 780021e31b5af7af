"""The DID method kit fails methods that are broken on purpose, each by the test that names the promise."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import Controller, Life, WalletSigner
from identity_kit.conformance.did_method import DidMethodConformance

from identity_codec import jcs
from identity_codec.values import replace
from identity_core.domain.dids.changes import SetAlsoKnownAs
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument


class Good(Chain):
    """A method that keeps every promise, to be broken one by one."""

    name = "ids"
    mutable = True

    def __init__(self) -> None:
        super().__init__("ids", Rules())

    def expand(self, did: Did) -> DidState | None:
        return None


class NoCheck(Good):
    """Takes every identifier for its own."""

    def check(self, did: Did) -> None:
        if len(did.identifier) < 2:
            raise InvalidDid


class Loose(Good):
    """Reads entries in any form."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        try:
            data = jcs.canonicalize(json.loads(data))
        except ValueError as error:
            raise LogInvalid from error
        return super().apply(state, data)


class Crashing(Good):
    """Lets the errors of its parser out."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        json.loads(data)
        return super().apply(state, data)


class Forgetful(Good):
    """Does not remember which challenges were used."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        return replace(super().apply(state, data), spent_challenges=())


class Forgiving(Good):
    """Lets retired keys come back."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        return replace(super().apply(state, data), retired_keys=())


class Undying(Good):
    """Does not notice a deactivation."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        return replace(super().apply(state, data), deactivated=False)


class Endless(Good):
    """Never ends a grace period."""

    def apply(self, state: DidState | None, data: bytes) -> DidState:
        after = super().apply(state, data)
        methods = tuple(replace(method, revoked=None) for method in after.document.methods)
        return replace(after, document=replace(after.document, methods=methods))


class Trusting(Good):
    """Takes whatever key is listed."""

    def draft(self, state, change, at, *, signer):
        try:
            return super().draft(state, change, at, signer=signer)
        except InvalidDocument:
            return super().draft(state, replace(change, operations=(SetAlsoKnownAs(()),)), at, signer=signer)


class Clocked(Good):
    """Lets the clock of another machine in."""

    ticks = 0

    def draft(self, state, change, at, *, signer):
        self.ticks += 1
        return super().draft(state, change, at + timedelta(microseconds=self.ticks), signer=signer)


class Immutable(Good):
    """Says that its DIDs never change, and changes them."""

    mutable = False


BROKEN = {
    NoCheck: "test_it_refuses_identifiers_of_other_methods",
    Loose: "test_whitespace_another_order_and_a_tail_are_noticed",
    Crashing: "test_junk_is_log_invalid_and_nothing_else",
    Forgetful: "test_evidence_counts_once",
    Forgiving: "test_a_removed_key_never_comes_back",
    Undying: "test_deactivation_is_the_end",
    Endless: "test_a_grace_period_ends_by_itself_and_on_the_record",
    Trusting: "test_a_bbs_key_proves_itself",
    Clocked: "test_drafting_and_applying_are_deterministic",
    Immutable: "test_an_immutable_did_refuses_every_change",
}


def run(method: Good, name: str) -> None:
    """One test of the kit, the way pytest would call it."""
    kit = DidMethodConformance()
    controller, signer = Controller("kit"), WalletSigner("kit")
    test: Callable[..., None] = getattr(kit, name)
    wanted = test.__code__.co_varnames[1 : test.__code__.co_argcount]
    if wanted == ("method",):
        test(method)
        return
    life = Life(method, controller.creation(signer, recovery=method.mutable), controller, signer)
    if "junk" in wanted:
        test(life, b'{"versionId":')
    else:
        test(life)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_kit_fails_what_is_broken(broken: type[Good]) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)):
        run(broken(), BROKEN[broken])


@pytest.mark.parametrize("name", [name for broken, name in BROKEN.items() if broken is not Immutable])
def test_the_kit_passes_what_is_not(name: str) -> None:
    run(Good(), name)


class ShowsNoEvidence(DidMethodConformance):
    carries_evidence = False


def test_unchecked_draft_signature_fails() -> None:
    controller, signer = Controller("kit"), WalletSigner("kit")
    life = Life(Good(), controller.creation(signer), controller, signer)
    with pytest.raises(pytest.fail.Exception):
        ShowsNoEvidence().test_a_forged_signature_of_the_controller_is_refused(life)
