"""The handlers of the tag ``verifications``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api import anchor_render, paging
from identity_core.api.auth import NO_STORE
from identity_core.api.authors import sees_keys
from identity_core.api.request import Answer, Request
from identity_core.domain.caller import Caller
from identity_core.domain.times import printed
from identity_core.errors import InvalidRequest, JsonValue
from identity_core.ports.verifications import VerificationQuery, VerificationRow
from identity_core.use_cases.proofs.get import SCOPE
from identity_core.use_cases.verifications.create_challenge import CreateVerifierChallenge
from identity_core.use_cases.verifications.list import GetVerificationStats, ListVerificationHistory


@dataclass(frozen=True, slots=True)
class VerificationHandlers:
    """createVerifierChallenge, listVerificationHistory, getVerificationStats."""

    challenge: CreateVerifierChallenge
    history: ListVerificationHistory
    counts: GetVerificationStats

    async def create_verifier_challenge(self, request: Request) -> Answer:
        caller = request.authenticated
        caller.require_scope(SCOPE)
        domain = request.body["domain"]
        if not domain.isprintable():
            raise InvalidRequest("domain has characters that no proof can be bound to.", details={"member": "domain"})
        text, challenge = await self.challenge(domain, caller)
        body = {"challenge": text, "domain": domain, "expiresAt": printed(challenge.expires_at)}
        return Answer(201, body, headers=[NO_STORE])

    async def list_verification_history(self, request: Request) -> Answer:
        limit = request.query.get("limit", 50)
        rows = await self.history(_wish(request, limit + 1), request.authenticated)
        page, following = paging.page_of(rows, limit)
        return Answer(
            200,
            {"items": [_row(row, request.authenticated) for row in page], "nextCursor": following},
            headers=[NO_STORE],
        )

    async def get_verification_stats(self, request: Request) -> Answer:
        counts = await self.counts(_wish(request, 0), request.authenticated)
        body = {
            "total": counts.total,
            "verified": counts.verified,
            "refused": counts.total - counts.verified,
            "reasons": [{"code": code, "count": count} for code, count in counts.reasons.items()],
        }
        return Answer(200, body, headers=[NO_STORE])


def _wish(request: Request, limit: int) -> VerificationQuery:
    """What the query asks for; whose rows those may be is the use case's to say."""
    query = request.query
    return VerificationQuery(
        caller=None,
        dids=None,
        since=paging.time_in(query, "from"),
        until=paging.time_in(query, "to"),
        verified=query.get("verified"),
        holder=query.get("holderDid"),
        issuer=query.get("issuerDid"),
        before=paging.row_cursor(query),
        limit=limit,
    )


def _row(row: VerificationRow, reader: Caller) -> dict[str, JsonValue]:
    """``VerificationHistoryRow`` of the document."""
    one = row.verification
    return {
        "id": row.id,
        "ts": printed(one.at),
        "verified": one.verified,
        "verifierDid": one.verifier,
        "keyFingerprint": one.fingerprint if sees_keys(reader) else None,
        "holderDid": one.holder,
        "issuerDid": one.issuer,
        "schemaId": one.schema_id,
        "proofId": one.proof_id,
        "predicate": None if one.attribute is None else {"attributeName": one.attribute, "type": one.predicate_type},
        "reasons": [{"code": code} for code in one.codes],
        "anchor": anchor_render.anchor(row.anchor),
    }
