"""The anchoring kit must fail ledgers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_ledger_memory import MemoryLedger

from identity_codec.values import replace
from identity_core.ports.ledger import AnchorTransaction, Receipt
from tests.did_use_cases import MovableClock


class Sound(MemoryLedger):
    """Outlives its process in the list that it is given."""

    def __init__(self, kept: list[MemoryLedger]) -> None:
        super().__init__(MovableClock())
        if kept:
            self.__dict__ |= {name: value for name, value in kept[0].__dict__.items() if name != "_closed"}
        kept[:] = [self]


class AnchorsAnew(Sound):
    """The same root again is another transaction."""

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        self._anchors.pop(("anchor", root), None)
        return await super().submit_anchor(root, size)


class ForgetsWhatWasSubmitted(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return None


class NeverConfirms(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        found = await super().anchor_status(root)
        return None if found is None else replace(found, state="mined")


class FailsForNoReason(Sound):
    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        return replace(await super().submit_anchor(root, size), state="failed")


class MinedInNoBlock(Sound):
    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        return replace(await super().submit_anchor(root, size), state="mined", block_number=None)


class ConfirmsWhatItNeverSaw(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return await super().anchor_status(root) or AnchorTransaction("confirmed", "0" * 64, 1)


class RevokesTheBatch(Sound):
    """A revoked leaf takes its root with it."""

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        for (kind, digest), found in self._anchors.items():
            if kind == "anchor":
                self._anchors[kind, digest] = replace(found, state="failed", reason="revoked")
        return await super().revoke_leaf(leaf)


class MixesAnchorsAndRevocations(Sound):
    """One table without a kind."""

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        return await super().revocation_status(leaf) or await super().anchor_status(leaf)


class OneTransactionForAll(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        found = await super().anchor_status(root)
        return None if found is None else replace(found, transaction_hash="0" * 64)


class AnchorsTakeSequences(Sound):
    """Anchors stand among the entries, and the entries' numbers have holes."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        receipt = await super().append(did, entry, expected_version=expected_version)
        line = self._lines[-1]
        receipt = replace(receipt, sequence=receipt.sequence + len(self._anchors))
        self._lines[-1] = self._of_did[did][-1] = replace(line, receipt=receipt)
        return receipt


class AnchorsAfterClose(Sound):
    async def close(self) -> None:
        await asyncio.sleep(0)


class HasNoName(Sound):
    anchor_ledger_name = ""


class AnchorsInMemory(Sound):
    """Entries outlive the process, anchors do not."""

    def __init__(self, kept: list[MemoryLedger]) -> None:
        super().__init__(kept)
        self._anchors = {}


class ChangesItsName(Sound):
    def __init__(self, kept: list[MemoryLedger]) -> None:
        super().__init__(kept)
        self.anchor_ledger_name = f"memory:{id(self)}"


BROKEN: dict[type[Sound], str] = {
    AnchorsAnew: "test_the_same_root_again_is_the_same_anchor",
    ForgetsWhatWasSubmitted: "test_an_anchor_is_confirmed",
    NeverConfirms: "test_an_anchor_is_confirmed",
    FailsForNoReason: "test_an_anchor_is_confirmed",
    MinedInNoBlock: "test_an_anchor_is_confirmed",
    ConfirmsWhatItNeverSaw: "test_unsubmitted_anchor_is_unknown",
    RevokesTheBatch: "test_a_leaf_is_revoked_alone",
    MixesAnchorsAndRevocations: "test_unsubmitted_anchor_is_unknown",
    OneTransactionForAll: "test_different_digests_are_different_anchors",
    AnchorsTakeSequences: "test_anchors_are_no_entries",
    AnchorsAfterClose: "test_closing_ends_anchoring",
    HasNoName: "test_it_anchors",
    AnchorsInMemory: "test_anchors_outlive_their_process",
    ChangesItsName: "test_anchors_outlive_their_process",
}
PROMISES = [name for name, _ in inspect.getmembers(AnchoringLedgerConformance) if name.startswith("test_")]


class Kit(AnchoringLedgerConformance):
    patience_seconds = 0.2


def examine(make: Callable[[list[MemoryLedger]], MemoryLedger], promise: str) -> None:
    """Raises what the kit's test raises."""
    kept: list[MemoryLedger] = []
    fixtures: dict[str, Any] = {"ledger": make(kept), "reopen": lambda: make(kept)}
    test: Callable[..., None] = getattr(Kit(), promise)
    test(**{name: fixtures[name] for name in inspect.signature(test).parameters})


@pytest.mark.parametrize("promise", PROMISES)
def test_a_sound_ledger_passes(promise: str) -> None:
    examine(Sound, promise)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_ledger_fails_where_it_is_broken(broken: type[Sound]) -> None:
    with pytest.raises((AssertionError, Failed)):
        examine(broken, BROKEN[broken])


def test_every_promise_has_a_ledger_that_breaks_it() -> None:
    assert set(BROKEN.values()) == set(PROMISES)
