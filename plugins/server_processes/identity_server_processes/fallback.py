"""A fallback for a shared store that is late, down or broken.

A decision has a deadline. The first one that misses it, or fails, opens the circuit. Until a probe in the background
reaches the store again, every decision comes from a bucket in this process with its share of rate and burst. So the
limit stays a limit (neither open nor closed), and at most one request pays the deadline, however long the outage is.
An outage may let one further burst through, because the local buckets begin full.

There are no retries, because a late decision is worth nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from identity_core.throttle.memory import Decision, TokenBucketMemoryStorage, TokenBucketStorage

LOG_EVERY_SECONDS = 10.0
PROBE_EVERY_SECONDS = 1.0


class FallbackStorage(TokenBucketStorage):
    """``shared`` while it answers within ``deadline_seconds``, else this process's part of the limit.

    ``processes``: the number of processes that share the limit.
    ``deadline_seconds``: None for a store that answers without suspending and enforces a deadline itself.
    ``degraded`` and ``local_decisions``: for readiness and metrics.

    It belongs to one event loop.
    """

    def __init__(
        self,
        shared: TokenBucketStorage,
        *,
        processes: int,
        monotonic: Callable[[], float],
        logger: logging.Logger,
        deadline_seconds: float | None,
    ) -> None:
        super().__init__()
        self.degraded: bool = False
        self._shared = shared
        self._local = TokenBucketMemoryStorage(monotonic=monotonic)
        self._processes = processes
        self._monotonic = monotonic
        self._logger = logger
        self._deadline_seconds = deadline_seconds
        own = shared.base_exceptions
        self._failures: tuple[type[Exception], ...] = (TimeoutError, *(own if isinstance(own, tuple) else (own,)))
        self._logged_at: float | None = None
        self._probe: asyncio.Task[None] | None = None

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """Return no errors: ``limits`` must not wrap a failure of the shared store."""
        return ()

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        """See ``TokenBucketStorage``. Takes no longer than the deadline."""
        if not self.degraded:
            try:
                if self._deadline_seconds is None:
                    return await self._shared.acquire_token_bucket(key, rate, burst, cost)
                async with asyncio.timeout(self._deadline_seconds):
                    return await self._shared.acquire_token_bucket(key, rate, burst, cost)
            except self._failures as error:
                self._open_circuit(error)
        return self._spend_locally(key, rate, burst, cost)

    def spend_at_once(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision | None:
        if not self.degraded:
            try:
                return self._shared.spend_at_once(key, rate, burst, cost)
            except self._failures as error:
                self._open_circuit(error)
        return self._spend_locally(key, rate, burst, cost)

    def _spend_locally(self, key: str, rate: float, burst: int, cost: int) -> Decision:
        self.local_decisions += 1
        share = max(burst // self._processes, cost, 1)
        return self._local.spend_at_once(key, rate / self._processes, share, cost)

    def _open_circuit(self, error: Exception) -> None:
        self.degraded = True
        now = self._monotonic()
        if self._logged_at is None or now - self._logged_at >= LOG_EVERY_SECONDS:
            self._logged_at = now
            self._logger.warning("the shared rate limits are out of reach, limiting locally: %s", type(error).__name__)
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._probe_until_alive())

    async def begin(self) -> bool:
        """Check for at most a second whether the shared store is available, and return that. If it is not, limit
        locally until it is."""
        self.degraded = not await self._answers()
        if self.degraded:
            self._logged_at = self._monotonic()
            self._probe = asyncio.create_task(self._probe_until_alive())
        return not self.degraded

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_EVERY_SECONDS):
                return await self._shared.check()
        except self._failures:
            return False

    async def _probe_until_alive(self) -> None:
        while self.degraded:
            await asyncio.sleep(PROBE_EVERY_SECONDS)
            self.degraded = not await self._answers()

    async def check(self) -> bool:
        """Return whether the shared store is in use."""
        return not self.degraded

    async def reset(self) -> int | None:
        """Delete every bucket of the shared store."""
        return await self._shared.reset()

    async def clear(self, key: str) -> None:
        """Delete one bucket of the shared store."""
        await self._shared.clear(key)

    async def close(self) -> None:
        """End the probe and close the shared store."""
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.wait([self._probe])
        await self._shared.close()
