"""The anchoring kit must fail ledgers that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from _pytest.outcomes import Failed, Skipped
from identity_ledger_memory import MemoryLedger

from identity_core.conformance.anchoring import AnchoringLedgerConformance
from identity_core.ports.ledger import AnchorTransaction


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class Sound(MemoryLedger):
    def __init__(self) -> None:
        super().__init__(Clock())


class AnchorsTwice(Sound):
    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        self._anchors.pop(("anchor", root), None)
        return await super().submit_anchor(root, size)


class RevokesTwice(Sound):
    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        self._anchors.pop(("revocation", leaf), None)
        return await super().revoke_leaf(leaf)


class ForgetsWhatItTookOver(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return None


class NeverConfirms(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        found = await super().anchor_status(root)
        return found and replace(found, state="submitted", block_number=None)


class FailsForNoReason(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        found = await super().anchor_status(root)
        return found and replace(found, state="failed")


class ConfirmsWithoutABlock(Sound):
    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        found = await super().anchor_status(root)
        return found and replace(found, block_number=None)


class MixesAnchorsAndRevocations(Sound):
    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        return await super().anchor_status(leaf)


class RevokesTheBatch(Sound):
    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        self._anchors = {key: one for key, one in self._anchors.items() if key[0] != "anchor"}
        return await super().revoke_leaf(leaf)


class CutsAtNul(Sound):
    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        return await super().submit_anchor(root.split(b"\0")[0], size)

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return await super().anchor_status(root.split(b"\0")[0])


class AnchorsAmongTheEntries(Sound):
    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        receipt = await self.append("did:x:anchor", root, expected_version=len(await self.entries("did:x:anchor")))
        made = AnchorTransaction("confirmed", receipt.transaction_hash, receipt.block_number)
        return self._anchors.setdefault(("anchor", root), made)


class GoesOnAfterClose(Sound):
    async def close(self) -> None:
        pass


class HasNoName(Sound):
    anchor_ledger_name = ""


BROKEN = {
    AnchorsTwice: "test_the_same_root_again_is_the_same_anchor",
    RevokesTwice: "test_a_leaf_is_revoked_alone",
    ForgetsWhatItTookOver: "test_an_anchor_is_confirmed",
    NeverConfirms: "test_an_anchor_is_confirmed",
    FailsForNoReason: "test_an_anchor_is_confirmed",
    ConfirmsWithoutABlock: "test_an_anchor_is_confirmed",
    MixesAnchorsAndRevocations: "test_what_was_never_submitted_is_unknown",
    RevokesTheBatch: "test_a_leaf_is_revoked_alone",
    CutsAtNul: "test_different_digests_are_different_anchors",
    AnchorsAmongTheEntries: "test_anchors_are_no_entries",
    GoesOnAfterClose: "test_closing_ends_anchoring",
    HasNoName: "test_it_anchors",
}


class Impatient(AnchoringLedgerConformance):
    patience_seconds = 0.05


def failures(make: type[MemoryLedger], reopen: Callable[[], Any] | None = None) -> set[str]:
    """The names of the kit's tests that ``make`` does not pass."""
    failed = set()
    for name, test in inspect.getmembers(Impatient, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        more = {"reopen": reopen} if "reopen" in inspect.signature(test).parameters else {}
        try:
            test(Impatient(), ledger=make(), **more)
        except Skipped:
            pass
        except (Exception, Failed):
            failed.add(name)
    return failed


def test_a_sound_ledger_passes() -> None:
    assert failures(Sound) == set()


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_ledger_fails_where_it_is_broken(broken: type[MemoryLedger]) -> None:
    assert BROKEN[broken] in failures(broken)


def test_a_ledger_that_forgets_fails_the_restart() -> None:
    assert failures(Sound, reopen=Sound) == {"test_anchors_outlive_their_process"}
