"""What the audit log is told of refusals, and what it is not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from identity_core.api.quota import QuotaLimits, Quotas
from identity_core.api.refusals import AuditRefusals
from identity_core.api.request import Answer, Operation, Request
from identity_core.domain.caller import Caller
from identity_core.domain.did import Did
from identity_core.errors import DelegationNotFound, Forbidden, IdentityError, LedgerUnavailable
from identity_core.ports.repositories import AuditRow

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HANA = Caller(did=Did.parse("did:toy:hana"))


class Rows:
    """An audit log that can be looked into."""

    def __init__(self) -> None:
        self.rows: list[AuditRow] = []

    async def write(self, row: AuditRow, *, durable: bool = False) -> None:
        self.rows.append(row)


class Clock:
    def now(self) -> datetime:
        return NOW


# What these operations keep is nothing that is counted, so nobody is asked.
UNLIMITED: Any = Quotas(None, Clock(), QuotaLimits(None, None, None, None))  # type: ignore[arg-type]


def told(
    error: IdentityError | None, *, method: str = "POST", name: str = "suspendDelegation", caller: Caller | None = HANA
) -> list[AuditRow]:
    """What is in the log after one request."""
    rows = Rows()
    operation = Operation(name, method, "/delegations/{delegationId}", frozenset({"DIDAuth"}), "DIDAuth")

    async def handler(request: Request) -> Answer:
        if error is not None:
            raise error
        return Answer(200)

    run: Any = AuditRefusals(rows, Clock(), UNLIMITED).around(operation, handler)  # type: ignore[arg-type]
    request = Request(request_id="r-1", operation_id=name, path={"delegationId": "dlg_1"}, caller=caller)
    if error is None:
        assert asyncio.run(run(request)).status == 200
    else:
        with pytest.raises(type(error)):
            asyncio.run(run(request))
    return rows.rows


def test_a_refusal_is_told_by_its_code_alone() -> None:
    refusal = Forbidden("The caller may not act for this DID.", details={"did": "did:toy:secret"})
    assert told(refusal) == [
        AuditRow(NOW, "r-1", "suspendDelegation", "did:did:toy:hana", None, "dlg_1", "refused", {"code": "FORBIDDEN"})
    ]


@pytest.mark.parametrize(
    "silent",
    [
        {"error": None},
        {"error": LedgerUnavailable()},
        {"error": DelegationNotFound(), "method": "GET", "name": "getDelegation"},
        {"error": DelegationNotFound(), "caller": None},
        {"error": Forbidden(), "name": "generateDelegatedProof"},
    ],
    ids=["success", "fault of ours", "read", "stranger", "tells itself"],
)
def test_the_rest_is_not_told(silent: dict[str, Any]) -> None:
    assert told(**silent) == []
