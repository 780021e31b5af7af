"""getDashboardTimeline: the events of the caller's delegations, credentials and proofs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from identity_core.domain.callers import Caller
from identity_core.domain.inputs import optional_time
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline, TimelineRow
from identity_records.use_cases.visibility import Visibility
from identity_records.wire import GetDashboardTimelineQuery


class GetDashboardTimeline(Struct, frozen=True):
    """The operation getDashboardTimeline, newest first. Raises ``Forbidden``: for a key or a token without ``audit:read``."""

    timeline: StoredTimeline

    async def __call__(
        self, query: GetDashboardTimelineQuery, caller: Caller, *, before: str | None = None
    ) -> Sequence[TimelineRow]:
        """Return a page of rows with ids before ``before``, and one row more if there is one."""
        since, until = optional_time(query.after, "after"), optional_time(query.before, "before")
        dids = Visibility.from_caller(caller).dids
        return await self.timeline.list(TimelineQuery(dids, query.kind, since, until, before, query.limit + 1))
