"""A service without the extension: ``anchor: true`` is refused, receipts are shown, and revocations are done later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from identity_core.domain.proofs.stored import Anchor, AnchorStatus
from identity_core.store import Store
from tests.anchoring import Anchorage, add_proofs, revoke_proof, some_proof, tell
from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.servers import local_server

OFF = GENEROUS | {"IDENTITY_EXTENSIONS_DISABLED": "anchoring"}
PROOF = some_proof(datetime.now(UTC), anchor=Anchor(AnchorStatus.CONFIRMED, "ab" * 32, 7))


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=OFF) as server:
        yield server


@pytest.fixture(scope="module")
def wire(running: LocalServer) -> Iterator[Wire]:
    wire = Wire(running.url)
    yield wire
    wire.close()


def test_receipt_of_an_earlier_proof_is_columns(wire: Wire, running: LocalServer) -> None:
    async def add() -> None:
        store = Store.open(running.data_dir, processes=2)
        await add_proofs(store, [PROOF])
        await store.close()

    asyncio.run(add())
    key = {"X-API-Key": running.api_key}
    shown = wire.call("GET", f"{PREFIX}/zkp/proofs/{PROOF.id}", None, key).json
    receipt = {"status": "confirmed", "txHash": "ab" * 32, "blockNumber": 7, "revokedBlock": None}
    assert shown["anchor"] == receipt
    revoked = wire.call("POST", f"{PREFIX}/zkp/proofs/{PROOF.id}/revoke", {"syncWaitMs": 5_000}, key)
    assert (revoked.status, revoked.json["anchor"]) == (200, receipt)
    assert revoked.json["revokedAt"] is not None


def test_readiness_and_metrics_have_nothing_of_it(wire: Wire, running: LocalServer) -> None:
    key = {"X-API-Key": running.api_key}
    assert "anchoring" not in wire.call("GET", f"{PREFIX}/ready", None, key).json["dependencies"]
    assert "anchoring" not in wire.call("GET", f"{PREFIX}/version", None, key).json["extensions"]


def test_revocation_meanwhile_is_begun_afterwards(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        queued, batched = await rooms.queue(), await rooms.queue()
        assert await rooms.outbox.hold(rooms.clock.now())
        await rooms.worker.seal()
        [late] = await rooms.queue()
        sinks = rooms.store.activity.sinks
        off = sinks.pop()
        for proof in (*queued, late):
            await revoke_proof(rooms.store, proof, rooms.clock.now())
        sinks.append(off)
        rooms.ledger.is_impatient = True
        worker = rooms.new_worker()
        for _ in range(8):
            await worker.round()
        assert await rooms.statuses([*queued, late]) == {"revoked"}
        assert (await rooms.anchor(late)).revoked_block is None
        assert (await rooms.anchor(queued[0])).revoked_block is not None
        assert await rooms.statuses(batched) == {"confirmed"}

    tell(Anchorage(tmp_path), story)
