"""What was asked for and refused stands in the audit log like what was done (delegation.md §3.10).

Only refusals of callers whose identity was established, and only of operations that change something: a stranger could fill
the log, and a failed read changes nothing that an auditor asks about. Of the refusal the code is kept, neither its
text nor anything of the request. An operation that tells the log more about its refusals does so itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.api.quota import Quotas
from identity_core.api.request import Answer, Handler, Operation, Request
from identity_core.domain.caller import Caller
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import AuditLog, AuditRow

TELL_THEMSELVES: Final = frozenset({"generateDelegatedProof"})
REFUSED: Final = "refused"


@dataclass(frozen=True, slots=True)
class AuditRefusals:
    """Stands around the handlers of changing operations; inside it ``quotas`` count what they keep."""

    audit: AuditLog
    clock: Clock
    quotas: Quotas

    def around(self, operation: Operation, handler: Handler) -> Handler:
        """The handler, or one that writes a line before it passes a refusal on."""
        if operation.method == "GET" or not operation.schemes or operation.operation_id in TELL_THEMSELVES:
            return handler

        async def told(request: Request) -> Answer:
            try:
                async with self.quotas.keeping(operation, request):
                    return await handler(request)
            except IdentityError as error:
                if error.status < 500 and request.caller is not None:
                    await self.audit.write(self._row(request, request.caller, error.code))
                raise

        return told

    def _row(self, request: Request, caller: Caller, code: str) -> AuditRow:
        return AuditRow(
            at=self.clock.now(),
            request_id=request.request_id,
            operation=request.operation_id,
            caller=caller.identity,
            fingerprint=None if caller.key is None else caller.key.fingerprint,
            target=next(iter(request.path.values()), None),
            outcome=REFUSED,
            details={"code": code},
        )
