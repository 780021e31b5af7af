"""getDashboardTimeline: what happened to the caller's delegations, credentials and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from identity_core.domain.caller import Caller
from identity_core.ports.timeline import Timeline, TimelineQuery, TimelineRow
from identity_core.use_cases.verifications.visibility import Visibility


@dataclass(frozen=True, slots=True)
class GetDashboardTimeline:
    """Newest first. Raises ``Forbidden`` for a key or a token without ``audit:read``."""

    timeline: Timeline

    async def __call__(self, wish: TimelineQuery, caller: Caller) -> Sequence[TimelineRow]:
        return await self.timeline.list(replace(wish, dids=Visibility.of(caller).dids))
