"""The parts that the watcher and the dispatcher share: the database, the lease, and which contract on which chain."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from msgspec import Struct

from identity_core.database import Database, Job, Transaction
from identity_core.ports.clock import Clock
from identity_ledger_evm import lease
from identity_ledger_evm.index import EPOCH, MICROSECOND
from identity_ledger_evm.settings import EvmSettings

T = TypeVar("T")

RENEW_MICROSECONDS = lease.LEASE_MICROSECONDS // 3


class Station(Struct):
    """One process. ``trouble`` is what keeps transactions from getting into a block now, for people to read; empty when
    there is nothing."""

    database: Database
    clock: Clock
    holder: str
    chain_id: int
    contract: str
    sender: str
    settings: EvmSettings
    trouble: str = ""
    _renewed: int = -RENEW_MICROSECONDS

    def now(self) -> int:
        """Microseconds since 1970."""
        return (self.clock.now() - EPOCH) // MICROSECOND

    async def take_lease(self) -> bool:
        """Return whether this process is the one that talks to the chain."""
        now = self.now()
        if 0 <= now - self._renewed < RENEW_MICROSECONDS:
            return True
        taken = await self.database.write(lambda transaction: lease.take(transaction, self.holder, now), durable=False)
        self._renewed = now if taken else -RENEW_MICROSECONDS
        return taken

    def lost_lease(self) -> None:
        """Note that another process has the lease. The next round tries again."""
        self._renewed = -RENEW_MICROSECONDS

    def write(self, job: Job[T]) -> Awaitable[T]:
        """Run a job, if this process still holds the lease. Raises ``LeaseLost``."""

        def fenced(transaction: Transaction) -> T:
            if not lease.take(transaction, self.holder, self.now()):
                raise lease.LeaseLost
            return job(transaction)

        return self.database.write(fenced)
