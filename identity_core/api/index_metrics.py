"""How many DIDs are withheld, as a metric."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

from identity_core.api.plugin_metrics import COPY_SECONDS


class IndexMetrics:
    """The gauge of ``withheld``."""

    def __init__(self, registry: CollectorRegistry, withheld: Callable[[], int]) -> None:
        self._withheld = withheld
        self._gauge = Gauge(
            "identity_quarantined_dids",
            "DIDs that are withheld because index and ledger differ about them; see `identity ledger repair`.",
            registry=registry,
            multiprocess_mode="livemax",
        )

    def copy(self) -> None:
        """Brings the metric of this process up to date."""
        self._gauge.set(self._withheld())

    async def keep_copying(self) -> None:
        """For a process whose metrics another one shows."""
        while True:
            self.copy()
            await asyncio.sleep(COPY_SECONDS)
