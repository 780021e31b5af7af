"""syncWaitMs: at once, as soon as it is decided, at the latest after the wait; and what it never does."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_anchoring import service
from identity_anchoring.service import ProofAnchoring

from identity_core.domain.proofs.stored import Anchor, AnchorStatus
from identity_core.errors import PluginUnavailable
from identity_core.use_cases.background import Wakeup
from tests.anchoring import PENDING, Anchorage, tell

CONFIRMED = Anchor(AnchorStatus.CONFIRMED, "aa", 1, None)


class Receipts:
    """An outbox of one receipt."""

    def __init__(self, receipt: Anchor | None = PENDING) -> None:
        self.found, self.reads = receipt, 0

    async def receipt(self, proof_id: str) -> Anchor | None:
        self.reads += 1
        return self.found


def desk_over(outbox: Any, **wish: Any) -> ProofAnchoring:
    worker: Any = SimpleNamespace(called=Wakeup(), news=Wakeup())
    return ProofAnchoring(outbox, True, worker, **wish)


def test_no_wait_is_pending_whatever_has_become_of_it() -> None:
    async def story() -> None:
        outbox = Receipts(CONFIRMED)
        assert await desk_over(outbox).request("p", 0) == PENDING
        assert outbox.reads == 0

    asyncio.run(story())


def test_the_bell_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "POLL_SECONDS", 60.0)

    async def story() -> None:
        outbox = Receipts()
        desk = desk_over(outbox)
        asked = asyncio.create_task(desk.request("p", 20_000))
        await asyncio.sleep(0.01)
        desk.worker.news.notify()
        await asyncio.sleep(0.01)
        assert not asked.done()
        outbox.found = CONFIRMED
        desk.worker.news.notify()
        assert await asyncio.wait_for(asked, 15) == CONFIRMED

    asyncio.run(story())


def test_another_process_is_heard_by_polling() -> None:
    async def story() -> None:
        outbox = Receipts()
        asked = asyncio.create_task(desk_over(outbox).request("p", 20_000))
        await asyncio.sleep(0.01)
        outbox.found = CONFIRMED
        assert await asyncio.wait_for(asked, 15) == CONFIRMED

    asyncio.run(story())


def test_the_wait_ends_when_it_is_over() -> None:
    async def story() -> None:
        began = time.monotonic()
        assert await desk_over(Receipts()).request("p", 50) == PENDING
        assert 0.045 <= time.monotonic() - began < 15

    asyncio.run(story())


def test_nobody_waits_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_SYNC_WAIT_MS", 30)

    async def story() -> None:
        assert await asyncio.wait_for(desk_over(Receipts()).request("p", 10**12), 15) == PENDING

    asyncio.run(story())


def test_request_beyond_the_queue_is_answered_at_once() -> None:
    async def story() -> None:
        outbox = Receipts()
        desk = desk_over(outbox, most_waiters=2)
        first = [asyncio.create_task(desk.request("p", 20_000)) for _ in range(2)]
        await asyncio.sleep(0.01)
        assert await asyncio.wait_for(desk.request("p", 20_000), 15) == PENDING
        outbox.found = CONFIRMED
        desk.worker.news.notify()
        assert await asyncio.gather(*first) == [CONFIRMED] * 2
        assert await desk.request("p", 20_000) == CONFIRMED

    asyncio.run(story())


def test_trouble_is_no_exception() -> None:
    class Broken:
        async def receipt(self, proof_id: str) -> Anchor:
            raise PluginUnavailable

    async def story() -> None:
        assert await desk_over(Broken()).request("p", 10) == PENDING

    asyncio.run(story())


def test_lost_client_leaves_anchor_and_no_waiter(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        desk = ProofAnchoring(rooms.outbox, True, rooms.worker, most_waiters=1)
        [proof] = await rooms.queue()
        asked = asyncio.create_task(desk.request(proof.id, 20_000))
        await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        again = asyncio.create_task(desk.request(proof.id, 20_000))
        await rooms.worker.round()
        rooms.ledger.mine(2)
        await rooms.worker.round()
        assert (await asyncio.wait_for(again, 15)).status is AnchorStatus.CONFIRMED

    tell(Anchorage(tmp_path), story)


def test_a_wait_holds_neither_a_transaction_nor_a_worker(tmp_path: Path) -> None:
    """Two hundred wait while the writer writes and the worker works."""

    async def story(rooms: Anchorage) -> None:
        proofs = await rooms.queue(200)
        asked = [asyncio.create_task(rooms.desk.request(proof.id, 20_000)) for proof in proofs]
        await asyncio.sleep(0.01)
        began = time.monotonic()
        await rooms.queue(1)
        assert time.monotonic() - began < 15, "the writer waited with them"
        rooms.ledger.mine(0)
        for _ in range(3):
            await rooms.worker.round()
            rooms.ledger.mine(2)
        receipts = await asyncio.wait_for(asyncio.gather(*asked), 15)
        assert {receipt.status for receipt in receipts} == {AnchorStatus.CONFIRMED}

    tell(Anchorage(tmp_path), story)


def test_a_revocation_is_waited_for(tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        rooms.ledger.is_impatient = True
        rooms.worker.begin()
        [proof] = await rooms.queue()
        anchored = await rooms.desk.request(proof.id, 20_000)
        assert anchored.status is AnchorStatus.CONFIRMED
        await rooms.take_back(proof)
        revoked = await rooms.desk.revoke(proof, 20_000)
        assert revoked is not None
        assert revoked.status is AnchorStatus.REVOKED
        assert await rooms.desk.revoke(proof, 0) == revoked

    tell(Anchorage(tmp_path), story)
