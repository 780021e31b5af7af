"""Checks of issuers' signatures beside everything else that the process does.

A check takes milliseconds on the curve, up to some dozens for the widest schema, and anybody may ask for one. So it runs in a
thread, few at once, and when too many wait the next is turned away instead of making all of them late.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from identity_core.errors import Overloaded

AT_ONCE: Final = 2
WAITING: Final = 64
ANONYMOUS_WAITING: Final = 16
ANONYMOUS_REST: Final = 3.0
"""How long strangers rest after a check, in times that it took: together they get a quarter of one processor at most."""


@dataclass(slots=True)
class SignatureChecks:
    """``at_once`` run and ``waiting`` are unfinished at most; a turn is taken again after ``rest`` times what its check took. Made inside
    the event loop that uses it, one for those who are known and one for strangers, who thereby hold up no one but each other."""

    at_once: int = AT_ONCE
    waiting: int = WAITING
    rest: float = 0.0
    _turns: asyncio.Semaphore = field(init=False)
    _unfinished: int = 0

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    @classmethod
    def for_strangers(cls) -> SignatureChecks:
        """One at a time, with rests."""
        return cls(1, ANONYMOUS_WAITING, ANONYMOUS_REST)

    async def __call__(self, *work: Any) -> None:
        """One check, a function and its arguments, in its turn. Raises what it does, and ``Overloaded``."""
        if self._unfinished >= self.waiting:
            raise Overloaded(details={"retryAfter": 1})
        self._unfinished += 1
        try:
            await self._turns.acquire()
            # A client that goes away leaves its check running, and the turn with it.
            await asyncio.shield(self._begun(*work))
        finally:
            self._unfinished -= 1

    def _begun(self, *work: Any) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()

        def ended(_: object) -> None:
            loop.call_later(self.rest * (loop.time() - began), self._turns.release)

        future: asyncio.Future[None] = loop.run_in_executor(None, *work)
        future.add_done_callback(ended)
        return future
