"""listVerificationHistory and getVerificationStats: what was verified, for the verifier, the holder and the operator.

A verifier sees its own rows without the holder's DID: a proof hides it, and the history must not give it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from identity_core.domain.caller import Caller
from identity_core.ports.verifications import (
    VerificationCounts,
    VerificationRow,
    Verifications,
    VerificationWish,
)
from identity_core.use_cases.verifications.sight import Sight


@dataclass(frozen=True, slots=True)
class ListVerifications:
    """Newest first. ``wish`` says what to filter; who may see what is added here. Raises ``Forbidden``."""

    verifications: Verifications

    async def __call__(self, wish: VerificationWish, caller: Caller) -> Sequence[VerificationRow]:
        sight = Sight.of(caller)
        rows = await self.verifications.list(seen(wish, sight))
        return [row if sight.shows(row.verification.holder) else _without_holder(row) for row in rows]


@dataclass(frozen=True, slots=True)
class CountVerifications:
    """The same rows, counted. Raises ``Forbidden``."""

    verifications: Verifications

    async def __call__(self, wish: VerificationWish, caller: Caller) -> VerificationCounts:
        return await self.verifications.counts(seen(wish, Sight.of(caller)))


def seen(wish: VerificationWish, sight: Sight) -> VerificationWish:
    """The wish within what the caller sees. Asking for a holder whom it may not see finds nothing, so that the filter is no oracle."""
    if wish.holder is not None and not sight.shows(wish.holder):
        return replace(wish, caller="", dids=frozenset())
    everything = sight.dids is None
    return replace(wish, caller=None if everything else sight.caller, dids=sight.dids)


def _without_holder(row: VerificationRow) -> VerificationRow:
    return replace(row, verification=replace(row.verification, holder=None))
