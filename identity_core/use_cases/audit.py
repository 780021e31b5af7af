"""listAuditLines: the whole audit log, for operators who may see everybody's.

The lines come as they were hashed, with their links, so that who reads them can check that none is missing or edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.activity import ChainedLine
from identity_core.domain.callers import Caller
from identity_core.errors import Forbidden
from identity_core.ports.repositories import AuditLog
from identity_core.wire import ListAuditLinesQuery

SCOPE = "audit:read"


@dataclass(frozen=True, slots=True)
class ListAuditLines:
    """Raises ``Forbidden`` for a caller that is no API key with ``audit:read``, and for a key with an allowlist: a chain with gaps proves
    nothing, and the whole one is about everybody."""

    audit: AuditLog

    async def __call__(self, query: ListAuditLinesQuery, caller: Caller) -> Sequence[ChainedLine]:
        caller.require_key(SCOPE)
        if caller.api_key is None or caller.api_key.allowed_targets is not None:
            raise Forbidden("The audit log is about everybody: a key with an allowlist may not read it.")
        return await self.audit.chain(after=query.after, limit=query.limit)
