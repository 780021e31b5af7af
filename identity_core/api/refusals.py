"""What was asked for and refused stands in the audit log like what was done.

Only refusals of callers whose identity was established, and only of operations that change something: a stranger could fill
the log, and a failed read changes nothing that an auditor asks about. Of the refusal the code is kept, neither its
text nor anything of the request. An operation that tells the log more about its refusals does so itself. Each line is counted
(``quota.py``), so a caller who has written as much as it may in a day is refused without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.api.quota import Quotas
from identity_core.api.request import Answer, Handler, Operation, Request
from identity_core.domain.activity import REFUSED, Event, RequestContext
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.use_cases.record import Record

TELL_THEMSELVES: Final = frozenset({"generateDelegatedProof"})


@dataclass(frozen=True, slots=True)
class AuditRefusals:
    """Stands around the handlers of changing operations; ``quotas`` count what they write and what they keep."""

    record: Record
    clock: Clock
    quotas: Quotas

    def around(self, operation: Operation, handler: Handler) -> Handler:
        """The handler, or one that is counted, and that writes a line before it passes a refusal on."""
        if operation.method == "GET" or not operation.schemes:
            return handler
        if operation.operation_id in TELL_THEMSELVES:
            return self.quotas.counted(operation, handler)

        async def told(request: Request) -> Answer:
            try:
                async with self.quotas.keeping(operation, request):
                    return await handler(request)
            except IdentityError as error:
                if error.status < 500 and request.caller is not None:
                    context = RequestContext(request.operation_id, request.caller, request.request_id)
                    target = next(iter(request.path.values()), None)
                    event = Event(target=target, outcome=REFUSED, code=error.code)
                    await self.record(context, event, self.clock.now())
                raise

        return self.quotas.counted(operation, told)
