"""What the audit log and the timeline say of delegations and IBCTs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.delegation import Delegation
from identity_core.domain.did import Did
from identity_core.errors import JsonValue
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.ports.timeline import Timeline, TimelineEntry
from identity_core.use_cases.delegations.access import operator_of
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class Journal:
    """Writes one row into each. The audit row names the operator's fingerprint and the holder as its target."""

    audit: AuditLog
    timeline: Timeline

    async def delegation(self, kind: str, delegation: Delegation, occasion: RequestContext, at: datetime) -> None:
        """An event of a delegation, such as ``delegation.created``."""
        await self._audit(
            occasion, delegation.holder, at, {"delegationId": delegation.id, "agent": str(delegation.agent)}
        )
        await self.timeline.record(
            TimelineEntry(
                at=at,
                kind=kind,
                outcome="done",
                actor=occasion.caller.identity,
                holder=str(delegation.holder),
                agent=str(delegation.agent),
                delegation_id=delegation.id,
            )
        )

    async def ibct(self, kind: str, invoker: Did, occasion: RequestContext, at: datetime) -> None:
        """An event of an IBCT. Neither its id nor its nonce is written: the token may still be on its way."""
        await self._audit(occasion, invoker, at, {})
        await self.timeline.record(
            TimelineEntry(at=at, kind=kind, outcome="done", actor=occasion.caller.identity, holder=str(invoker))
        )

    async def _audit(self, occasion: RequestContext, target: Did, at: datetime, details: dict[str, JsonValue]) -> None:
        operator = operator_of(occasion.caller)
        await self.audit.write(
            AuditRow(
                at=at,
                request_id=occasion.request_id,
                operation=occasion.operation,
                caller=occasion.caller.identity,
                fingerprint=operator.fingerprint if operator is not None else None,
                target=str(target),
                outcome="done",
                details=details,
            )
        )
