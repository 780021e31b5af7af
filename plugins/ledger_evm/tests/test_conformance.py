"""The ledger keeps the promises of the port, on a chain, with its index in SQLite and in PostgreSQL."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_kit.conformance.ledger import LedgerConformance
from identity_kit.conformance.ledger_faults import LedgerFaultConformance
from identity_ledger_evm.ledger import EvmLedger

from tests.anvil_server import AnvilServer


@contextlib.contextmanager
def paused(server: AnvilServer) -> Iterator[None]:
    """The node takes calls and answers none."""
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


class TestEvmLedger(LedgerConformance, AnchoringLedgerConformance):
    shared_chain = True

    @pytest.fixture
    def ledger(self, site: Any) -> EvmLedger:
        return site.open()

    @pytest.fixture
    def reopen(self, site: Any) -> Callable[[], EvmLedger]:
        return site.open


class TestEvmLedgerFaults(LedgerFaultConformance):
    """An append that was under way when the node stood still gives up as soon as it does by default."""

    shared_chain = True

    @pytest.fixture
    def ledger(self, site: Any) -> EvmLedger:
        return site.open(append_seconds=4.5)

    @pytest.fixture
    def reopen(self, site: Any) -> Callable[[], EvmLedger]:
        return lambda: site.open(append_seconds=4.5)

    @pytest.fixture
    def outage(self, site: Any) -> Callable[[], contextlib.AbstractContextManager[None]]:
        return lambda: paused(site.server)

    @pytest.fixture
    def tamper(self, site: Any) -> Callable[[int, bytes], None]:
        def forge(sequence: int, entry: bytes) -> None:
            index = site.context("index").data_dir / "ledger_evm.sqlite"
            with contextlib.closing(sqlite3.connect(index)) as forger, forger:
                forger.execute("UPDATE evm_entries SET entry = ? WHERE sequence = ?", (entry, sequence))

        return forge


@pytest.mark.nightly
class TestEvmLedgerOnPostgresql(LedgerConformance, AnchoringLedgerConformance):
    shared_chain = True

    @pytest.fixture
    def ledger(self, site: Any, postgres_url: str) -> EvmLedger:
        return site.open(database_url=postgres_url)

    @pytest.fixture
    def reopen(self, site: Any, postgres_url: str) -> Callable[[], EvmLedger]:
        return lambda: site.open(database_url=postgres_url)
