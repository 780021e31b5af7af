"""Checks of signatures of credentials: each takes milliseconds. A few run at once in threads, and the next one is refused when too many
wait."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from identity_core.errors import Overloaded

AT_ONCE: Final = 2
WAITING: Final = 64


@dataclass(slots=True)
class SignatureChecks:
    """A limited number of signature checks in threads: at most ``at_once`` run and ``waiting`` are unfinished. A slot is free again
    after ``rest`` times the duration of its check. It is created inside the event loop that uses it."""

    at_once: int = AT_ONCE
    waiting: int = WAITING
    rest: float = 0.0
    _turns: asyncio.Semaphore = field(init=False)
    _unfinished: int = 0

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    async def __call__(self, *work: Any) -> None:
        """Run one check, a function and its arguments, when a slot is free. Raises the errors of the check, and ``Overloaded``."""
        if self._unfinished >= self.waiting:
            raise Overloaded(details={"retryAfter": 1})
        self._unfinished += 1
        try:
            await self._turns.acquire()
            # If a client disconnects, its check continues and still occupies its slot.
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
