"""listVerificationHistory and getVerificationStats: the verifications, for the verifier, the holder and the operator.

A verifier sees its own rows without the holder's DID, because a proof hides it and the history must not reveal it. The anchor is
the current one and reveals a revocation, so it is shown only to callers that may see the status of the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

from identity_verification.ports import Proofs
from identity_verification.use_cases.stored import ProofAccess
from msgspec import Struct

from identity_codec.values import replace
from identity_core.domain.callers import Caller
from identity_core.domain.inputs import optional_time
from identity_core.ports.clock import Clock
from identity_records.queries import VerificationCounts, VerificationQuery
from identity_records.store import StoredVerifications, VerificationRow
from identity_records.use_cases.visibility import Visibility
from identity_records.wire import GetVerificationStatsQuery, ListVerificationHistoryQuery


class ReadVerifications(Struct, frozen=True):
    """The operations listVerificationHistory and getVerificationStats. Both raise ``Forbidden``."""

    verifications: StoredVerifications
    proofs: Proofs
    access: ProofAccess
    clock: Clock

    async def list(
        self, query: ListVerificationHistoryQuery, caller: Caller, *, before: str | None = None
    ) -> Sequence[VerificationRow]:
        """Return a page of rows with ids before ``before``, newest first, and one row more if there is one. Raises
        ``InvalidRequest``."""
        wanted, visibility = _wanted(query), Visibility.from_caller(caller)
        rows = await self.verifications.list(_limit(replace(wanted, before=before, limit=query.limit + 1), visibility))
        return [
            row if visibility.shows(row.verification.holder) else await self._of_verifier(row, caller) for row in rows
        ]

    async def _of_verifier(self, row: VerificationRow, caller: Caller) -> VerificationRow:
        """Return a row for a caller that verified the proof and is not its holder or agent."""
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

    async def counts(self, query: GetVerificationStatsQuery, caller: Caller) -> VerificationCounts:
        """Return the numbers of these rows."""
        return await self.verifications.counts(_limit(_wanted(query), Visibility.from_caller(caller)))


def _wanted(query: ListVerificationHistoryQuery | GetVerificationStatsQuery) -> VerificationQuery:
    return VerificationQuery(
        caller=None,
        dids=None,
        since=optional_time(query.from_, "from"),
        until=optional_time(query.to, "to"),
        verified=query.verified,
        holder=query.holder_did,
        issuer=query.issuer_did,
    )


def _limit(wish: VerificationQuery, visibility: Visibility) -> VerificationQuery:
    """Return the query, limited to the rows that the caller may see. A query for another holder finds nothing, so the filter is not
    an oracle."""
    if wish.holder is not None and not visibility.shows(wish.holder):
        return replace(wish, caller="", dids=frozenset())
    everything = visibility.dids is None
    return replace(wish, caller=None if everything else visibility.caller, dids=visibility.dids)
