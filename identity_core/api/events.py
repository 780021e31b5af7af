"""The handlers of the tag ``events``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api import did_render
from identity_core.api.request import Answer, Request
from identity_core.domain.times import printed
from identity_core.use_cases.events.list import ListEvents


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """listEvents."""

    events: ListEvents

    async def list_events(self, request: Request) -> Answer:
        after = request.query.get("after", 0)
        versions = await self.events(after=after, limit=request.query.get("limit", 100))
        items = [
            {
                "sequence": version.receipt.sequence,
                "did": str(version.state.did),
                "versionId": version.state.version_id,
                "operation": version.state.operation,
                "timestamp": printed(version.receipt.recorded_at),
                **did_render.receipt(version),
            }
            for version in versions
            if version.receipt is not None
        ]
        next_after = items[-1]["sequence"] if items else after
        return Answer(200, {"items": items, "nextAfter": next_after}, headers=[("Cache-Control", "no-store")])
