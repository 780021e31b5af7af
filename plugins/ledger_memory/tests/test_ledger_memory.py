"""The memory ledger keeps the promises of the port."""

from __future__ import annotations

from datetime import UTC, datetime

import identity_ledger_memory
import pytest
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_kit.conformance.ledger import LedgerConformance
from identity_ledger_memory import MemoryLedger


class StoppedClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class TestMemoryLedger(LedgerConformance, AnchoringLedgerConformance):
    @pytest.fixture
    def ledger(self) -> MemoryLedger:
        return MemoryLedger(StoppedClock())


def test_the_hook_hands_it_over() -> None:
    assert identity_ledger_memory.identity_provide_ledger_backend().name == "memory"
