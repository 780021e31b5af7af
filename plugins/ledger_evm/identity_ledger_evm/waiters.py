"""The calls that wait for their appends in this process, answered together after each look at the chain.

A thousand callers that each ask the database would cost more than the chain does.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct, field

from identity_core.database import Database, Transaction
from identity_ledger_evm import appends
from identity_ledger_evm.appends import Decided


class Waiters(Struct):
    """By the number of the append: the caller's future, and the look that was going on when it came."""

    database: Database
    _expected: dict[int, tuple[asyncio.Future[Decided | None], int]] = field(default_factory=dict)

    def expect(self, number: int, look: int) -> asyncio.Future[Decided | None]:
        """Return the future outcome of the append ``number``. It is None if the append was not sent and a whole later ``look`` at the
        chain failed."""
        future: asyncio.Future[Decided | None] = asyncio.get_running_loop().create_future()
        self._expected[number] = (future, look)
        return future

    def leave(self, number: int) -> None:
        """Remove the last waiter of an append."""
        self._expected.pop(number, None)

    async def tell(self, look: int, trouble: str) -> None:
        """Wake the waiters after a round. Those whose append has not been sent when a whole look ended in trouble need not wait
        longer."""
        if not self._expected:
            return
        told = []
        for decided in await self.database.read(appends.decided):
            waiter = self._expected.pop(decided.id, None)
            if waiter is not None:
                told.append(decided.id)
                _resolve(waiter[0], decided)
        if told:
            await self.database.write(lambda transaction: _forget(transaction, told), durable=False)
        if trouble:
            for number in await self.database.read(appends.waiting):
                if number in self._expected and self._expected[number][1] + 1 < look:
                    _resolve(self._expected.pop(number)[0], None)


def _resolve(future: asyncio.Future[Decided | None], result: Decided | None) -> None:
    if not future.done():
        future.set_result(result)


def _forget(transaction: Transaction, numbers: list[int]) -> None:
    for number in numbers:
        appends.forget(transaction, number)
