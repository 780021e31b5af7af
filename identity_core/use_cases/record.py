"""Recording of events without a transaction of their own."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime

from msgspec import Struct

from identity_core.domain.activity import Event, EventRecord, RequestContext
from identity_core.ports.activity import EventLog


class Record(Struct, frozen=True):
    """The function that passes events to the sinks. The event is queued at once and stored when the awaitable resolves. It then survives a
    crash of the process, and a loss of power only if ``durable``."""

    activity: EventLog

    def __call__(
        self, context: RequestContext, event: Event, at: datetime, *, durable: bool = False
    ) -> Awaitable[None]:
        return self.activity.write((EventRecord(event, context, at),), durable=durable)
