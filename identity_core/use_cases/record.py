"""The one way in which use cases tell of an event that has no transaction of its own."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime

from identity_core.domain.activity import Event, EventRecord, RequestContext
from identity_core.ports.activity import EventLog
from identity_core.values import value_class


@value_class
class Record:
    """Hands events to the sinks. The event is queued at once and stored when the awaitable resolves. It then outlives the process, and a
    loss of power only if ``durable``."""

    activity: EventLog

    def __call__(
        self, context: RequestContext, event: Event, at: datetime, *, durable: bool = False
    ) -> Awaitable[None]:
        return self.activity.write((EventRecord(event, context, at),), durable=durable)
