"""What each DID and each address has written, one row for each and a day: no write counts rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from identity_core.database import Database, Transaction
from identity_core.errors import QuotaExceeded
from identity_core.ports.usage import KEPT, Charge

_UNLIMITED: Final = 1 << 62

# Of all processes one counts at a time, by the lock that every group of writes takes first (README.md): no two orders of locks.
_LOCK = "SELECT id FROM audit_head WHERE id = 1 FOR UPDATE"
_CHARGE = """
INSERT INTO usage (owner, day, records, octets) SELECT :owner, :day, 1, :octets WHERE :octets <= :most_octets
ON CONFLICT (owner, day) DO UPDATE SET records = usage.records + 1, octets = usage.octets + excluded.octets
WHERE usage.records < :most_records AND usage.octets + excluded.octets <= :most_octets
RETURNING records
"""
_REFUND = """
UPDATE usage SET records = records - 1, octets = octets - :octets WHERE owner = :owner AND day = :day
"""
_FORGET = """
DELETE FROM usage WHERE (owner, day) IN (SELECT owner, day FROM usage WHERE day > :kept AND day < :before LIMIT :limit)
"""


class StoredUsage:
    """The port ``Usage`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def charge(self, charges: Sequence[Charge]) -> None:
        if not charges:
            return
        await self._database.write(lambda transaction: self._charge(transaction, charges), durable=False)

    def _charge(self, transaction: Transaction, charges: Sequence[Charge]) -> None:
        if self._database.dialect == "postgresql":
            transaction.execute(_LOCK).fetchone()
        for charge in charges:
            row = {
                "owner": charge.owner,
                "day": charge.day,
                "octets": charge.octets,
                "most_records": _UNLIMITED if charge.most_records is None else charge.most_records,
                "most_octets": _UNLIMITED if charge.most_octets is None else charge.most_octets,
            }
            # One that raises is undone alone, and with it what the charges before it have counted.
            if transaction.execute(_CHARGE, row).fetchone() is None:
                limits = {"records": charge.most_records, "octets": charge.most_octets}
                raise QuotaExceeded(details={"quota": charge.name, **limits})

    async def refund(self, charge: Charge) -> None:
        row = {"owner": charge.owner, "day": charge.day, "octets": charge.octets}

        def refund(transaction: Transaction) -> int:
            if self._database.dialect == "postgresql":
                transaction.execute(_LOCK).fetchone()
            return transaction.execute(_REFUND, row).rowcount

        await self._database.write(refund, durable=False)

    async def forget(self, before_day: int, *, limit: int) -> int:
        parameters = {"kept": KEPT, "before": before_day, "limit": limit}
        job = self._database.write(lambda transaction: transaction.execute(_FORGET, parameters).rowcount, durable=False)
        return await job
