"""The handlers of the tag ``verifications``."""

from __future__ import annotations

from identity_core import wire
from identity_core.api.anchors import anchor
from identity_core.api.authors import sees_keys
from identity_core.api.request import NO_STORE, ROW_ID, Answer, Request, page_of, position
from identity_core.codec.times import printed
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.checks import verdict_of
from identity_core.ports.activity import VerificationRow
from identity_core.use_cases.verifications import (
    CreateVerifierChallenge,
    GetVerificationStats,
    ListVerificationHistory,
)
from identity_core.values import value_class


@value_class
class VerificationHandlers:
    """createVerifierChallenge, listVerificationHistory, getVerificationStats."""

    challenge: CreateVerifierChallenge
    history: ListVerificationHistory
    counts: GetVerificationStats

    async def create_verifier_challenge(self, request: Request) -> Answer:
        text, challenge = await self.challenge(request.body, request.authenticated)
        body = wire.VerifierChallenge(challenge=text, domain=challenge.domain, expires_at=printed(challenge.expires_at))
        return Answer(201, body, headers=[NO_STORE])

    async def list_verification_history(self, request: Request) -> Answer:
        query: wire.ListVerificationHistoryQuery = request.query
        reader = request.authenticated
        rows = await self.history(query, reader, before=position(query.cursor, ROW_ID, "verifications "))
        page, following = page_of(rows, query.limit, lambda row: row.id, "verifications ")
        body = wire.VerificationHistory(items=tuple(_row(row, reader) for row in page), next_cursor=following)
        return Answer(200, body, headers=[NO_STORE])

    async def get_verification_stats(self, request: Request) -> Answer:
        counts = await self.counts(request.query, request.authenticated)
        body = wire.VerificationStats(
            total=counts.total,
            valid=counts.valid,
            verified=counts.verified,
            refused=counts.total - counts.verified,
            reasons=tuple(wire.ReasonCount(code=code, count=count) for code, count in counts.reasons.items()),
        )
        return Answer(200, body, headers=[NO_STORE])


def _row(row: VerificationRow, reader: Caller) -> wire.VerificationHistoryRow:
    one, predicate = row.verification, None
    if one.attribute is not None and one.predicate_type is not None:
        predicate = wire.VerifiedPredicate(attribute_name=one.attribute, type=one.predicate_type)
    return wire.VerificationHistoryRow(
        id=row.id,
        ts=printed(one.at),
        verified=one.verified,
        verdict=verdict_of(one.verified, one.missing),
        missing=one.missing,
        verifier_did=one.verifier,
        key_fingerprint=one.fingerprint if sees_keys(reader) else None,
        holder_did=one.holder,
        issuer_did=one.issuer,
        schema_id=one.schema_id,
        proof_id=one.proof_id,
        predicate=predicate,
        reasons=tuple(wire.VerificationReason(code=code) for code in one.codes),
        anchor=anchor(row.anchor),
    )
