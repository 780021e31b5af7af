"""Checks around the handlers that write: quotas of DIDs, and audit lines of refusals.

A request is counted immediately before its handler, which writes. A malformed request and a repeated answer of an
Idempotency-Key write nothing and are not counted. A daily quota counts the request even if the handler refuses it,
because a refusal leaves a line in the audit log. A quota of permanent records is refunded when the handler refuses.

The count is not part of the transaction that stores the change, because the ledger stores a change of a DID. So the
count is never lower than the number of stored changes, in any process and after any crash. API keys, also behind a
token, belong to the operator and have no quota.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from math import ceil
from typing import Final

from msgspec import Struct

from identity_core.api.request import Answer, Handler, Operation, Request
from identity_core.domain.activity import REFUSED, Refused, RequestContext
from identity_core.errors import IdentityError, QuotaExceeded
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import KEPT, Charge, Usage
from identity_core.throttle.policy import Network, bucket_address, client_address
from identity_core.use_cases.record import Record

RECORD_OCTETS: Final = 1024
"""The bytes that a record costs beside its body: columns, indexes, lines of audit log and timeline."""

_DAY: Final = timedelta(days=1)


class QuotaLimits(Struct, frozen=True):
    """Limits of one DID in total, and of one DID and one address per day (UTC); None for no limit."""

    did_records: int | None
    did_octets: int | None
    day_records: int | None
    day_octets: int | None


class Quotas(Struct, frozen=True):
    """Counters of the writes of DIDs. ``trusted_proxies``: the proxies whose header may name the address of a
    request."""

    usage: Usage
    clock: Clock
    limits: QuotaLimits
    trusted_proxies: Sequence[Network] = ()

    async def spend(self, operation: Operation, request: Request, kept: Charge | None = None) -> bool:
        """Count one writing request of the day, together with the permanent charge ``kept``. If only ``kept`` exceeds
        its quota, the day alone is counted. An operation that does not admit a DID is free.

        Return whether ``kept`` was counted. Raises ``QuotaExceeded``: when the daily quota is used up.
        """
        account = None if request.caller is None else request.caller.account
        if account is None or not operation.purpose:
            return False
        of_the_day = list(self._of_a_day(operation, request, account))
        if kept is not None:
            # If the permanent quota is used up, the request still counts for its day, because its refusal leaves a
            # line.
            with contextlib.suppress(QuotaExceeded):
                await self.usage.charge([*of_the_day, kept])
                return True
        await self._charge(of_the_day)
        return False

    async def keep(self, kept: Charge, handler: Handler, request: Request, *, is_counted: bool) -> Answer:
        """Return the answer of a handler that stores permanent rows. If the handler refuses the request, ``kept`` is
        refunded.

        Raises ``QuotaExceeded``: when ``kept`` was not counted before and exceeds its quota.
        """
        if not is_counted:
            await self._charge([kept])
        try:
            return await handler(request)
        except IdentityError as error:
            # After an unknown outcome, such as a database failure, the row may be stored, or a later run may store it
            # without being counted.
            if error.status < 500 and not (request.attempt and request.attempt.has_intended):
                await self.usage.refund(kept)
            raise

    def build_storage_charge(self, operation: Operation, request: Request) -> Charge | None:
        """Return the bytes that a request stores permanently; None if it stores nothing or the caller is not a DID."""
        account = None if request.caller is None else request.caller.account
        if account is None or not operation.keeps:
            return None
        limits, more = self.limits, _factor(operation)
        most = _times(limits.did_records, more), _times(limits.did_octets, more)
        return Charge("did in all", account, KEPT, _octets(request), *most)

    async def _charge(self, charges: Sequence[Charge]) -> None:
        try:
            await self.usage.charge(charges)
        except QuotaExceeded as error:
            seconds = (timedelta(days=self._today() + 1) - self._since_1970()).total_seconds()
            raise QuotaExceeded(details={**error.details, "retryAfter": ceil(seconds)}) from error

    def _of_a_day(self, operation: Operation, request: Request, account: str) -> Iterator[Charge]:
        data, more, today = _octets(request), _factor(operation), self._today()
        most = _times(self.limits.day_records, more), _times(self.limits.day_octets, more)
        yield Charge("did in a day", account, today, data, *most)
        # Operations that end something, or change the caller's own DID, never depend on other clients of the same
        # address.
        if more == 1 and "{did}" not in operation.path:
            address = client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)
            yield Charge("address in a day", f"address:{bucket_address(address)}", today, data, *most)

    def _today(self) -> int:
        return self._since_1970() // _DAY

    def _since_1970(self) -> timedelta:
        return timedelta(seconds=self.clock.now().timestamp())


def _octets(request: Request) -> int:
    """Return the bytes that a request costs; twice if the answer is stored for its Idempotency-Key."""
    data = RECORD_OCTETS + len(request.body_octets)
    return data if request.header("idempotency-key") is None else 2 * data


def _factor(operation: Operation) -> int:
    return 2 if operation.ends else 1


def _times(limit: int | None, more: int) -> int | None:
    return None if limit is None else more * limit


TELL_THEMSELVES: Final = frozenset({"generateDelegatedProof", "createDelegatedPresentation"})


class AuditRefusals(Struct, frozen=True):
    """Wrapper of the handlers of changing operations, which logs refusals. ``quotas`` count their daily and permanent
    writes.

    A refused request is in the audit log like a successful one. Only refusals of authenticated callers are logged: an
    unauthenticated client could fill the log. Only refusals of changing operations are logged: a failed read changes
    nothing that an auditor needs. The line has the code of the refusal, neither its text nor any part of the request.
    An operation that logs more about its refusals does so itself. Each line is counted, so a caller whose daily quota
    is used up is refused without one.
    """

    record: Record
    clock: Clock
    quotas: Quotas

    def around(self, operation: Operation, handler: Handler) -> Handler:
        """Return the handler, or a wrapper that counts the request and writes a line before it raises a refusal."""
        if operation.method == "GET" or not operation.schemes:
            return handler
        tells_itself = operation.operation_id in TELL_THEMSELVES

        async def handle(request: Request) -> Answer:
            if tells_itself:
                await self.quotas.spend(operation, request)
                return await handler(request)
            # A later run of a failed request was counted before.
            is_later = request.attempt is not None and request.attempt.intent is not None
            has_quota = request.caller is not None and request.caller.account is not None and not is_later
            kept = self.quotas.build_storage_charge(operation, request) if has_quota else None
            is_counted = has_quota and await self.quotas.spend(operation, request, kept)
            try:
                if kept is None:
                    return await handler(request)
                return await self.quotas.keep(kept, handler, request, is_counted=is_counted)
            except IdentityError as error:
                if error.status < 500 and request.caller is not None:
                    context = RequestContext(request.operation_id, request.caller, request.request_id)
                    target = next(iter(request.path.values()), None)
                    event = Refused(target=target, outcome=REFUSED, code=error.code)
                    await self.record(context, event, self.clock.now())
                raise

        return handle
