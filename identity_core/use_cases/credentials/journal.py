"""What the audit log and the timeline say of credentials: who did what to which one. No attribute value, no signature."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.credential import Credential
from identity_core.errors import JsonValue
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.ports.timeline import Timeline, TimelineEntry
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class CredentialJournal:
    """Writes the rows. An operator's carries the fingerprint of the key and the DID for which it acted."""

    audit: AuditLog
    timeline: Timeline

    async def event(self, kind: str, credential: Credential, occasion: RequestContext, at: datetime) -> None:
        """Something happened to the credential, such as ``credential.issued``; its parties see it too."""
        details: dict[str, JsonValue] = {
            "credentialId": credential.id,
            "holder": str(credential.holder),
            "status": credential.status.value,
            "version": credential.version,
        }
        await self.line(occasion, str(credential.issuer), at, details)
        await self.timeline.record(
            TimelineEntry(
                at=at,
                kind=kind,
                outcome="done",
                actor=occasion.caller.identity,
                holder=str(credential.holder),
                issuer=str(credential.issuer),
                credential_id=credential.id,
            )
        )

    async def line(self, occasion: RequestContext, target: str, at: datetime, details: dict[str, JsonValue]) -> None:
        """One line of the audit log."""
        key = occasion.caller.key
        await self.audit.write(
            AuditRow(
                at=at,
                request_id=occasion.request_id,
                operation=occasion.operation,
                caller=occasion.caller.identity,
                fingerprint=None if key is None else key.fingerprint,
                target=target,
                outcome="done",
                details=details,
            )
        )
