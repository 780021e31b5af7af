"""The handlers of the tag ``audit``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api.auth import NO_STORE
from identity_core.api.request import Answer, Request
from identity_core.use_cases.audit.list import ListAuditLines


@dataclass(frozen=True, slots=True)
class AuditHandlers:
    """listAuditLines."""

    lines: ListAuditLines

    async def list_audit_lines(self, request: Request) -> Answer:
        after = request.query.get("after", 0)
        lines = await self.lines(request.authenticated, after=after, limit=request.query.get("limit", 100))
        items = [{"sequence": one.sequence, "line": one.line.decode(), "link": one.link.hex()} for one in lines]
        body = {"items": items, "nextAfter": lines[-1].sequence if lines else after}
        return Answer(200, body, headers=[NO_STORE])
