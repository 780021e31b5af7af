"""What is kept of an event: a line of the audit log, an event of the timeline for its parties, a row of the verification history.

All of them are one job of the store's writer and stand in one transaction. The audit log is the operator's and complete, refusals
included; the timeline is what holder, agent and issuer may see. In none of them stands an attribute value, a predicate value or a
secret.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Final

from identity_core.domain.activity import REFUSED, Event, Parties, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.checks import compared_of
from identity_core.domain.proofs.verification import ProofVerification, issuer_of
from identity_core.ports.activity import ActivityLog, ActivityRow, TimelineEntry, Verification
from identity_core.ports.repositories import AuditRow
from identity_core.values import value_class

# In the order in which ``TimelineEntry`` has them.
_OF_PARTIES: Final = attrgetter(*(field.name for field in fields(Parties)))


@value_class
class Record:
    """Derives from the caller what the rows say of who it was. What is queued at once is stored when the awaitable resolves; it then
    outlives the process, and a loss of power only when ``durable``."""

    activity: ActivityLog

    def __call__(
        self, context: RequestContext, event: Event, at: datetime, *, durable: bool = False
    ) -> Awaitable[None]:
        return self.activity.write(rows_of(context, event, at), durable=durable)


def rows_of(context: RequestContext, event: Event, at: datetime) -> list[ActivityRow]:
    """The rows of an event. Verifications are in the audit log only where an API key asked for them."""
    caller, rows = context.caller, list[ActivityRow]()
    if event.verification is None or caller.key is not None:
        rows.append(line_of(context, event, at))
    if event.parties is not None:
        outcome = "done" if event.code is None else REFUSED
        rows.append(TimelineEntry(at, event.kind, outcome, caller.identity, event.code, *_OF_PARTIES(event.parties)))
    if event.verification is not None:
        rows.append(_verification(caller, event, event.verification, at))
    return rows


def line_of(context: RequestContext, event: Event, at: datetime) -> AuditRow:
    """The line of the audit log."""
    caller = context.caller
    details = dict(event.details)
    if event.outcome == REFUSED and event.code is not None:
        details["code"] = event.code
    return AuditRow(
        at=at,
        request_id=context.request_id,
        operation=context.operation,
        caller=caller.identity or None,
        fingerprint=None if caller.key is None else caller.key.fingerprint,
        target=event.target,
        outcome=event.outcome,
        details=details,
    )


def _verification(caller: Caller, event: Event, verdict: ProofVerification, at: datetime) -> Verification:
    presented = verdict.presented
    only = presented.predicates[0].json if presented is not None and len(presented.predicates) == 1 else None
    return Verification(
        at=at,
        verified=verdict.verified,
        caller=caller.identity,
        verifier=None if caller.acting is None else str(caller.acting),
        fingerprint=None if caller.key is None else caller.key.fingerprint,
        holder=None if event.parties is None else event.parties.holder,
        issuer=None if presented is None else issuer_of(presented),
        schema_id=None if presented is None else presented.schema.id,
        proof_id=event.target,
        attribute=None if only is None else str(only["attributeName"]),
        predicate_type=None if only is None else str(only["type"]),
        codes=compared_of(verdict.missing) if verdict.verified else tuple(map(str, verdict.errors)),
    )
