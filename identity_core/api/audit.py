"""The handlers of the tag ``audit``."""

from __future__ import annotations

from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.use_cases.audit import ListAuditLines
from identity_core.values import value_class


@value_class
class AuditHandlers:
    """listAuditLines."""

    lines: ListAuditLines

    async def list_audit_lines(self, request: Request) -> Answer:
        query: wire.ListAuditLinesQuery = request.query
        lines = await self.lines(query, request.authenticated)
        items = tuple(
            wire.AuditLine(sequence=one.sequence, line=one.line.decode(), link=one.link.hex()) for one in lines
        )
        body = wire.AuditLog(items=items, next_after=lines[-1].sequence if lines else query.after)
        return Answer(200, body, headers=[NO_STORE])
