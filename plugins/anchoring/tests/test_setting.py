"""``anchoring.enabled``: unset follows the ledger; true on one that cannot stops the start."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_anchoring.extension import anchor_worker
from identity_anchoring.outbox import StoredOutbox
from identity_ledger_memory import MemoryLedger

from identity_core.settings import StartError, load
from identity_core.store import Store
from identity_core.use_cases.record import Record
from tests.did_use_cases import MovableClock


class Plain:
    """A ledger that records no digests."""

    def __init__(self) -> None:
        inner = MemoryLedger(MovableClock())
        self.append, self.entries = inner.append, inner.entries
        self.entries_after, self.head = inner.entries_after, inner.head


@pytest.mark.parametrize(
    ("ledger", "enabled", "works"),
    [(MemoryLedger, None, True), (MemoryLedger, "false", True), (Plain, None, False), (Plain, "false", False)],
)
def test_the_worker_is_there_where_the_ledger_can(tmp_path: Path, ledger: Any, enabled: Any, *, works: bool) -> None:
    assert (built(tmp_path, ledger, enabled) is not None) is works


def test_a_ledger_that_cannot_must_not_be_told_to(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot anchor"):
        built(tmp_path, Plain, "true")


def built(folder: Path, ledger: Any, enabled: str | None) -> Any:
    given = {} if enabled is None else {"IDENTITY_ANCHORING_ENABLED": enabled}
    settings = load(environment=given, overrides={"data_dir": folder})
    store = Store.open(folder)
    made = ledger(MovableClock()) if ledger is MemoryLedger else ledger()
    logged: Any = SimpleNamespace(ledger=made, follower=None, signer=SimpleNamespace(key=SimpleNamespace(name="log")))
    try:
        outbox = StoredOutbox(store.database, os.urandom)
        return anchor_worker(settings, logged, outbox, Record(store.activity), MovableClock())
    finally:
        asyncio.run(store.close())
