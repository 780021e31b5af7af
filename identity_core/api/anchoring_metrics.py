"""What the worker of anchoring sees and does, as metrics; with several processes the one that holds the lease has the figures."""

from __future__ import annotations

import asyncio
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from identity_core.api.plugin_metrics import COPY_SECONDS
from identity_core.use_cases.anchoring.journal import Figures

_GAUGES: Final = {
    "waiting": "Proofs that are in no batch yet.",
    "undecided": "Batches that are not confirmed and have not failed.",
    "revoking": "Anchors whose revocation is on the way.",
    "oldest_seconds": "How long the oldest proof has waited for a batch.",
}
_COUNTS: Final = {
    "confirmed": "Leaves of batches that were confirmed.",
    "failed": "Leaves of batches that failed.",
    "reopened": "Confirmed anchors and their revocations whose block the ledger undid.",
    "revoked": "Anchors that were revoked on the ledger.",
}


class AnchoringMetrics:
    """Metrics of ``figures``."""

    def __init__(self, registry: CollectorRegistry, figures: Figures) -> None:
        self._figures = figures
        self._gauges = {
            name: Gauge(f"identity_anchoring_{name}", meaning, registry=registry, multiprocess_mode="livemax")
            for name, meaning in _GAUGES.items()
        }
        self._stuck = Gauge(
            "identity_anchoring_stuck",
            "1 while a batch waits for something, such as an empty purse, where a person has to do something.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._counts = {
            name: Counter(f"identity_anchoring_{name}", meaning, registry=registry) for name, meaning in _COUNTS.items()
        }
        self._seen = dict.fromkeys(_COUNTS, 0)

    def copy(self) -> None:
        """Brings the metrics of this process up to date."""
        for name, gauge in self._gauges.items():
            gauge.set(getattr(self._figures, name))
        self._stuck.set(bool(self._figures.trouble))
        for name, counter in self._counts.items():
            count = getattr(self._figures, name)
            counter.inc(count - self._seen[name])
            self._seen[name] = count

    async def keep_copying(self) -> None:
        """For a process whose metrics another one shows."""
        while True:
            self.copy()
            await asyncio.sleep(COPY_SECONDS)
