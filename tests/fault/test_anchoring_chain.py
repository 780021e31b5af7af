"""Anchoring on a real chain through the ledger ``evm``: confirmed, reorganised, without money, revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from identity_core.domain.anchor import AnchorStatus
from tests.anchoring import Anchorage, tell
from tests.anvil_server import AnvilServer, anvil_program
from tests.evm_site import Site, SystemClock, make_site

__all__ = ["anvil_program"]

S = AnchorStatus


@pytest.fixture
def site(anvil_program: Path, tmp_path: Path) -> Iterator[Site]:
    """A chain of its own: one that is rewound is nobody else's."""
    server = AnvilServer(anvil_program).start()
    folder = tmp_path / "chain"
    folder.mkdir()
    made = make_site(server, folder)
    yield made
    made.close()
    server.stop()


def on(site: Site, folder: Path) -> Anchorage:
    return Anchorage(folder, ledger=site.open(), clock=SystemClock())  # type: ignore[arg-type]


async def until(rooms: Anchorage, proof: object, status: AnchorStatus) -> None:
    async with asyncio.timeout(60):
        while (await rooms.anchor(proof)).status is not status:  # type: ignore[arg-type]
            await rooms.worker.round()
            await asyncio.sleep(0.05)


def test_confirmed_and_revoked(site: Site, tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        kept, taken_back = await rooms.queue(2)
        await until(rooms, kept, S.CONFIRMED)
        receipt = await rooms.anchor(kept)
        found = site.server.call("eth_getTransactionReceipt", f"0x{receipt.tx_hash}")
        assert int(found["blockNumber"], 16) == receipt.block_number
        await rooms.take_back(taken_back)
        await until(rooms, taken_back, S.REVOKED)
        assert await rooms.anchor(kept) == receipt

    tell(on(site, tmp_path), story)


def test_a_reorganised_chain_takes_the_receipt_back_and_gives_it_again(site: Site, tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        [proof] = await rooms.queue()
        await until(rooms, proof, S.CONFIRMED)
        before = await rooms.anchor(proof)
        site.server.call("evm_setAutomine", False)
        site.server.call("anvil_reorg", 1, [])
        async with asyncio.timeout(60):
            while (found := await rooms.anchor(proof)).status is S.CONFIRMED:
                rooms.worker._checked_at = float("-inf")
                await rooms.worker.round()
                await asyncio.sleep(0.05)
        assert (found.status, found.block_number) == (S.PENDING, None)
        site.server.call("evm_setAutomine", True)
        site.server.mine(2)
        await until(rooms, proof, S.CONFIRMED)
        after = await rooms.anchor(proof)
        assert after.block_number is not None
        told = site.server.call("eth_getTransactionReceipt", f"0x{after.tx_hash}")
        assert int(told["blockNumber"], 16) == after.block_number
        assert before.tx_hash is not None

    tell(on(site, tmp_path), story)


def test_an_empty_purse_is_told_and_waited_for(site: Site, tmp_path: Path) -> None:
    async def story(rooms: Anchorage) -> None:
        address = rooms.ledger._station.sender
        site.server.call("anvil_setBalance", address, "0x0")
        [proof] = await rooms.queue()
        async with asyncio.timeout(60):
            while not rooms.worker.fault:
                await rooms.worker.round()
                await asyncio.sleep(0.05)
        assert (await rooms.anchor(proof)).status is S.PENDING
        site.server.call("anvil_setBalance", address, hex(10**21))
        await until(rooms, proof, S.CONFIRMED)
        await rooms.worker.round()
        assert rooms.worker.fault == ""

    tell(on(site, tmp_path), story)
