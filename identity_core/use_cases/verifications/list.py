"""listVerificationHistory and getVerificationStats: what was verified, for the verifier, the holder and the operator.

A verifier sees its own rows without the holder's DID: a proof hides it, and the history must not give it away. The anchor is as it is
now, and tells of a revocation, so it is shown to those alone who may know the status of the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from identity_core.domain.caller import Caller
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Proofs
from identity_core.ports.verifications import (
    VerificationCounts,
    VerificationQuery,
    VerificationRow,
    Verifications,
)
from identity_core.use_cases.proofs.access import ProofAccess
from identity_core.use_cases.verifications.visibility import Visibility


@dataclass(frozen=True, slots=True)
class ListVerificationHistory:
    """Newest first. ``wish`` says what to filter; who may see what is added here. Raises ``Forbidden``."""

    verifications: Verifications
    proofs: Proofs
    access: ProofAccess
    clock: Clock

    async def __call__(self, wish: VerificationQuery, caller: Caller) -> Sequence[VerificationRow]:
        visibility = Visibility.of(caller)
        rows = await self.verifications.list(seen(wish, visibility))
        return [
            row if visibility.shows(row.verification.holder) else await self._of_verifier(row, caller) for row in rows
        ]

    async def _of_verifier(self, row: VerificationRow, caller: Caller) -> VerificationRow:
        """A row of somebody who verified the proof and has no other part in it."""
        verification = replace(row.verification, holder=None)
        anchor = row.anchor if row.anchor is not None and await self._knows_status(row, caller) else None
        return replace(row, verification=verification, anchor=anchor)

    async def _knows_status(self, row: VerificationRow, caller: Caller) -> bool:
        proof_id = row.verification.proof_id
        # Without a holder the row is of a proof that only bears the id of one that is kept here.
        if proof_id is None or row.verification.holder is None:
            return False
        stored = await self.proofs.get(proof_id)
        return (
            stored is not None
            and self.clock.now() < stored.expires_at
            and await self.access.knows_status(stored, caller)
        )


@dataclass(frozen=True, slots=True)
class GetVerificationStats:
    """The same rows, counted. Raises ``Forbidden``."""

    verifications: Verifications

    async def __call__(self, wish: VerificationQuery, caller: Caller) -> VerificationCounts:
        return await self.verifications.counts(seen(wish, Visibility.of(caller)))


def seen(wish: VerificationQuery, visibility: Visibility) -> VerificationQuery:
    """The wish within what the caller sees. Asking for a holder whom it may not see finds nothing, so that the filter is no oracle."""
    if wish.holder is not None and not visibility.shows(wish.holder):
        return replace(wish, caller="", dids=frozenset())
    everything = visibility.dids is None
    return replace(wish, caller=None if everything else visibility.caller, dids=visibility.dids)
