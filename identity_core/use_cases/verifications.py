"""Whose rows a caller sees, in the history and in the timeline alike.

createVerifierChallenge: a challenge for one domain, good for one success. ``ChallengeUse`` spends it.

listVerificationHistory and getVerificationStats: what was verified, for the verifier, the holder and the operator.

A verifier sees its own rows without the holder's DID: a proof hides it, and the history must not give it away. The anchor is as it is
now, and tells of a revocation, so it is shown to those alone who may know the status of the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from identity_core.codec import times
from identity_core.codec.multibase import base64url_encode
from identity_core.domain.activity import VerificationCounts, VerificationQuery
from identity_core.domain.callers import Caller
from identity_core.errors import InvalidRequest
from identity_core.ports.activity import VerificationRow, Verifications, VerifierChallenge, VerifierChallenges
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Proofs
from identity_core.use_cases.proofs.stored import PREFIX, VERIFY_SCOPE, ProofAccess
from identity_core.values import value_class
from identity_core.wire import (
    CreateVerifierChallengeRequest,
    GetVerificationStatsQuery,
    ListVerificationHistoryQuery,
)

AUDIT = "audit:read"


@value_class
class Visibility:
    """``dids`` None is everybody's; ``caller`` is the identity whose own acts are seen as well."""

    caller: str
    dids: frozenset[str] | None

    @classmethod
    def of(cls, caller: Caller) -> Visibility:
        """A DID sees what concerns itself, an API key with ``audit:read`` what concerns the DIDs of its allowlist. Raises ``Forbidden``
        for a key or a token without that scope."""
        caller.require_scope(AUDIT)
        if caller.api_key is not None:
            return cls(caller.identity, caller.api_key.allowed_targets)
        return cls(caller.identity, frozenset({str(caller.did or caller.subject)}))

    def shows(self, did: str | None) -> bool:
        """Whether a DID may be named to the caller."""
        return did is not None and (self.dids is None or did in self.dids)


LIFETIME: Final = timedelta(hours=1)
"""Long enough for an agent who has to ask the holder first."""


@value_class
class CreateVerifierChallenge:
    """Raises ``Forbidden``, ``InvalidRequest``; ``Overloaded`` when far too many of the caller's are live."""

    challenges: VerifierChallenges
    clock: Clock
    random: Callable[[int], bytes]
    lifetime: timedelta

    async def __call__(self, wish: CreateVerifierChallengeRequest, caller: Caller) -> tuple[str, VerifierChallenge]:
        caller.require_scope(VERIFY_SCOPE)
        if not wish.domain.isprintable():
            raise InvalidRequest("domain has characters that no proof can be bound to.", details={"member": "domain"})
        now = self.clock.now()
        text = PREFIX + base64url_encode(self.random(32))
        challenge = VerifierChallenge(caller.owner, wish.domain, now + self.lifetime, spent=False)
        await self.challenges.add(text, challenge, now)
        return text, challenge


@value_class
class ListVerificationHistory:
    """Newest first. Raises ``InvalidRequest``, ``Forbidden``."""

    verifications: Verifications
    proofs: Proofs
    access: ProofAccess
    clock: Clock

    async def __call__(
        self, query: ListVerificationHistoryQuery, caller: Caller, *, before: str | None = None
    ) -> Sequence[VerificationRow]:
        """One row more than a page has, where there is one; those with ids before ``before``."""
        wanted, visibility = _wanted(query), Visibility.of(caller)
        rows = await self.verifications.list(_seen(replace(wanted, before=before, limit=query.limit + 1), visibility))
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


@value_class
class GetVerificationStats:
    """The same rows, counted. Raises ``Forbidden``."""

    verifications: Verifications

    async def __call__(self, query: GetVerificationStatsQuery, caller: Caller) -> VerificationCounts:
        return await self.verifications.counts(_seen(_wanted(query), Visibility.of(caller)))


def _wanted(query: ListVerificationHistoryQuery | GetVerificationStatsQuery) -> VerificationQuery:
    return VerificationQuery(
        caller=None,
        dids=None,
        since=times.optional(query.from_, "from"),
        until=times.optional(query.to, "to"),
        verified=query.verified,
        holder=query.holder_did,
        issuer=query.issuer_did,
    )


def _seen(wish: VerificationQuery, visibility: Visibility) -> VerificationQuery:
    """The wish within what the caller sees. Asking for a holder whom it may not see finds nothing, so that the filter is no oracle."""
    if wish.holder is not None and not visibility.shows(wish.holder):
        return replace(wish, caller="", dids=frozenset())
    everything = visibility.dids is None
    return replace(wish, caller=None if everything else visibility.caller, dids=visibility.dids)
