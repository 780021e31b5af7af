"""What the audit log is told of refusals, and what it is not."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from identity_core.api.request import Answer, Request
from identity_core.api.writing import AuditRefusals, QuotaLimits, Quotas
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import DelegationNotFound, Forbidden, LedgerUnavailable, Overloaded, QuotaExceeded
from identity_core.ports.key_store import Charge
from identity_core.use_cases.record import Record
from tests.did_use_cases import MovableClock, operator
from tests.events import AuditRow, Rows
from tests.operations import gate_entry

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HANA = Caller(did=Did.parse("did:toy:hana"))


class Clock:
    def now(self) -> datetime:
        return NOW


class Counters:
    """Counters of charges and refunds; ``full`` names a counter that has reached its limit."""

    def __init__(self, full: str | None = None) -> None:
        self.full = full
        self.counts: Counter[str] = Counter()
        self.writes = 0

    async def charge(self, charges: Sequence[Charge]) -> None:
        self.writes += 1
        if any(charge.name == self.full for charge in charges):
            raise QuotaExceeded(details={"quota": self.full})
        self.counts.update(charge.name for charge in charges)

    async def refund(self, charge: Charge) -> None:
        self.counts.subtract((charge.name,))

    async def forget(self, before_day: int, *, limit: int) -> int:
        raise NotImplementedError


def logged_lines(
    error: BaseException | None,
    *,
    name: str = "suspendDelegation",
    caller: Caller | None = HANA,
    counters: Counters | None = None,
) -> list[AuditRow]:
    """What is in the log after one request."""
    rows = Rows()
    quotas = Quotas(counters or Counters(), Clock(), QuotaLimits(9, None, 9, None))
    operation = gate_entry(name)

    async def handler(request: Request) -> Answer:
        if error is not None:
            raise error
        return Answer(200)

    run: Any = AuditRefusals(Record(rows), Clock(), quotas).around(operation, handler)  # type: ignore[arg-type]
    request = Request(request_id="r-1", operation_id=name, path={"delegationId": "dlg_1"}, caller=caller)
    full = None if counters is None or counters.full is None else QuotaExceeded()
    if (expected := full or error) is None:
        assert asyncio.run(run(request)).status == 200
    else:
        with pytest.raises(type(expected)):
            asyncio.run(run(request))
    return rows.rows


def test_a_refusal_is_told_by_its_code_alone() -> None:
    refusal = Forbidden("The caller may not act for this DID.", details={"did": "did:toy:secret"})
    assert logged_lines(refusal) == [
        AuditRow(NOW, "r-1", "suspendDelegation", "did:did:toy:hana", None, "dlg_1", "refused", {"code": "FORBIDDEN"})
    ]


@pytest.mark.parametrize(
    "silent",
    [
        {"error": None},
        {"error": LedgerUnavailable()},
        {"error": DelegationNotFound(), "name": "getDelegation"},
        {"error": DelegationNotFound(), "caller": None},
        {"error": Forbidden(), "name": "generateDelegatedProof"},
    ],
    ids=["success", "fault of ours", "read", "stranger", "tells itself"],
)
def test_the_rest_is_not_told(silent: dict[str, Any]) -> None:
    assert logged_lines(**silent) == []


@pytest.mark.parametrize(
    ("error", "kept"),
    [(None, 1), (Forbidden(), 0), (Overloaded(), 1), (RuntimeError(), 1), (asyncio.CancelledError(), 1)],
    ids=["stored", "refused", "fault of ours", "bug", "cut short"],
)
def test_a_refusal_is_not_kept_and_what_may_have_been_stored_is(error: BaseException | None, kept: int) -> None:
    """The day counts it in any case: the audit log has a line of it, or may have."""
    counters = Counters()
    logged_lines(error, name="createDelegation", counters=counters)
    assert counters.counts == {"did in a day": 1, "address in a day": 1, "did in all": kept}
    assert counters.writes == 1


@pytest.mark.parametrize(("full", "lines"), [("did in a day", 0), ("did in all", 1)])
def test_full_quota_of_the_day_writes_no_line(full: str, lines: int) -> None:
    counters = Counters(full)
    assert len(logged_lines(None, name="createDelegation", counters=counters)) == lines
    assert sum(counters.counts.values()) == (2 if lines else 0)


@pytest.mark.parametrize(
    ("now", "seconds"),
    [
        (NOW, 86_400),
        (NOW.replace(hour=23, minute=59, second=59), 1),
        (NOW.replace(hour=23, minute=59, second=58, microsecond=1), 2),
    ],
)
def test_full_quota_ends_with_the_day(now: datetime, seconds: int) -> None:
    clock: Any = MovableClock(now)
    quotas = Quotas(Counters("did in a day"), clock, QuotaLimits(None, None, 9, None))
    operation = gate_entry("createDelegation")
    request = Request(request_id="r-1", operation_id="createDelegation", path={}, caller=HANA)
    with pytest.raises(QuotaExceeded) as refused:
        asyncio.run(quotas.spend(operation, request))
    assert refused.value.details["retryAfter"] == seconds


def test_an_api_key_and_what_tells_itself() -> None:
    keyed, proving = Counters(), Counters()
    logged_lines(None, name="createDelegation", caller=operator(), counters=keyed)
    logged_lines(None, name="generateDelegatedProof", counters=proving)
    assert (keyed.counts, proving.counts) == ({}, {"did in a day": 1, "address in a day": 1})
