"""Leaves the traces of a verification: a row of the history, one of the holder's timeline, and a line of the audit log where an
API key asked. None of them has a value in it, and none is written for a stranger."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.caller import Caller
from identity_core.domain.verification import ProofVerification, issuer_of
from identity_core.errors import JsonValue
from identity_core.ports.proofs import StoredProof
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.ports.timeline import Timeline, TimelineEntry
from identity_core.ports.verifications import Verification, Verifications
from identity_core.use_cases.dids.writer import RequestContext

VERIFIED = "proof.verified"


@dataclass(frozen=True, slots=True)
class RecordVerification:
    """``stored`` is the proof as it is kept here, where it is exactly the one that was verified."""

    verifications: Verifications
    timeline: Timeline
    audit: AuditLog

    async def __call__(
        self, verdict: ProofVerification, stored: StoredProof | None, occasion: RequestContext, at: datetime
    ) -> None:
        caller = occasion.caller
        traces = [self.verifications.record(_verification(verdict, stored, caller, at))]
        if stored is not None:
            traces.append(self.timeline.record(_event(verdict, stored, caller, at)))
        if key_of(caller) is not None:
            outcome: dict[str, JsonValue] = {"verified": verdict.verified, "reasons": [*map(str, verdict.errors)]}
            traces.append(self.audit.write(audit_row(occasion, _proof_id(verdict, stored), at, outcome)))
        # All of them stand in the writer's queue already, and share its next transaction.
        await asyncio.gather(*traces)


def key_of(caller: Caller) -> str | None:
    """The fingerprint of the API key behind the caller, or None where there is none."""
    key = caller.api_key or caller.operator
    return None if key is None else key.fingerprint


def audit_row(occasion: RequestContext, target: str | None, at: datetime, details: dict[str, JsonValue]) -> AuditRow:
    """The line of an operation that was done."""
    caller = occasion.caller
    return AuditRow(
        at=at,
        request_id=occasion.request_id,
        operation=occasion.operation,
        caller=caller.identity,
        fingerprint=key_of(caller),
        target=target,
        outcome="done",
        details=details,
    )


def _verification(verdict: ProofVerification, stored: StoredProof | None, caller: Caller, at: datetime) -> Verification:
    presented = verdict.presented
    only = presented.predicates[0] if presented is not None and len(presented.predicates) == 1 else None
    verifier = caller.did or caller.subject
    return Verification(
        at=at,
        verified=verdict.verified,
        caller=caller.identity,
        verifier=None if verifier is None else str(verifier),
        fingerprint=key_of(caller),
        holder=None if stored is None else stored.holder,
        issuer=None if presented is None else issuer_of(presented),
        schema_id=None if presented is None else presented.schema.id,
        proof_id=_proof_id(verdict, stored),
        attribute=None if only is None else only.attribute,
        predicate_type=None if only is None else only.type.value,
        codes=tuple(map(str, verdict.errors)),
    )


def _proof_id(verdict: ProofVerification, stored: StoredProof | None) -> str | None:
    if stored is not None:
        return stored.id
    return None if verdict.presented is None else verdict.presented.context.proof_id


def _event(verdict: ProofVerification, stored: StoredProof, caller: Caller, at: datetime) -> TimelineEntry:
    """Of the holder alone: to whom a proof is shown is no business of the agent's or the issuer's."""
    return TimelineEntry(
        at=at,
        kind=VERIFIED,
        outcome="done" if verdict.verified else "refused",
        actor=caller.identity,
        code=None if verdict.verified else next(map(str, verdict.errors), None),
        holder=stored.holder,
        delegation_id=stored.delegation_id,
        credential_id=stored.credential_id,
        proof_id=stored.id,
    )
