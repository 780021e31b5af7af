"""Anchoring on a real chain through the ledger ``evm``: confirmed, reorganised, without money, revoked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_ledger_evm.contract import call
from identity_verification.domain.received import proof_commitment

from identity_codec.values import replace
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from tests.anchoring import Anchorage, tell
from tests.anvil_server import AnvilServer, anvil_program
from tests.evm_site import Site, SystemClock, make_site

__all__ = ["anvil_program"]

S = AnchorStatus


CONFIRMATIONS = 3


@contextlib.contextmanager
def own_site(program: Path, tmp_path: Path, **changes: Any) -> Iterator[Site]:
    """Yield a separate chain: no other test uses one that is rewound."""
    server = AnvilServer(program).start()
    folder = tmp_path / "chain"
    folder.mkdir()
    made = make_site(server, folder, **changes)
    yield made
    made.close()
    server.stop()


@pytest.fixture
def site(anvil_program: Path, tmp_path: Path) -> Iterator[Site]:
    """Return a chain on which a block is final at once."""
    with own_site(anvil_program, tmp_path) as made:
        yield made


@pytest.fixture
def patient_site(anvil_program: Path, tmp_path: Path) -> Iterator[Site]:
    """Return a chain on which a block is final after two more blocks."""
    with own_site(anvil_program, tmp_path, confirmations=CONFIRMATIONS) as made:
        yield made


def open_anchorage(site: Site, folder: Path) -> Anchorage:
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

    tell(open_anchorage(site, tmp_path), story)


def test_reorganised_chain_takes_receipt_back_and_gives_it_again(site: Site, tmp_path: Path) -> None:
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

    tell(open_anchorage(site, tmp_path), story)


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

    tell(open_anchorage(site, tmp_path), story)


async def mined(rooms: Anchorage, site: Site, proof: StoredProof, status: AnchorStatus) -> Anchor:
    """Its receipt when it has that status, while blocks go by."""

    async def look() -> bool:
        site.server.mine()
        return (await rooms.anchor(proof)).status is status

    await worked(rooms, look)
    return await rooms.anchor(proof)


async def worked(rooms: Anchorage, is_done: Callable[[], Awaitable[bool]]) -> None:
    """The worker's rounds, each of which asks again about what is final."""
    async with asyncio.timeout(60):
        while not await is_done():
            rooms.clock.move(seconds=5)
            await rooms.worker.round()
            await asyncio.sleep(0.05)


def transaction_block(site: Site, receipt: Anchor) -> int | None:
    """The block in which the chain has the transaction of a receipt."""
    found = site.server.call("eth_getTransactionReceipt", f"0x{receipt.tx_hash}")
    return None if found is None else int(found["blockNumber"], 16)


def revoked_block(site: Site, proof: StoredProof) -> int:
    """The block in which the contract has the revocation of a proof's leaf; 0 when it does not have it."""
    asked = call("revoked", proof_commitment(proof.proof, proof.salt)).hex()
    return int(site.server.call("eth_call", {"to": site.settings.contract, "data": f"0x{asked}"}, "latest"), 16)


def test_unconfirmed_anchor_is_reported_again(
    patient_site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = patient_site

    async def story(rooms: Anchorage) -> None:
        [older] = await rooms.queue()
        untouched = await mined(rooms, site, older, S.CONFIRMED)
        kept, gone = await rooms.queue(2)
        before = await mined(rooms, site, kept, S.CONFIRMED)
        await rooms.take_back(gone)
        revoked = await mined(rooms, site, gone, S.REVOKED)
        assert revoked == replace(before, status=S.REVOKED, revoked_block=revoked_block(site, gone))
        assert before.block_number is not None
        depth = site.server.block_number() - before.block_number + 1
        assert depth > CONFIRMATIONS
        site.server.call("evm_setAutomine", False)
        site.server.call("anvil_reorg", depth, [])
        assert (transaction_block(site, before), revoked_block(site, gone)) == (None, 0)

        async def is_pending() -> bool:
            return await rooms.statuses([kept, gone]) == {"pending"}

        await worked(rooms, is_pending)
        for proof in (kept, gone):
            receipt = await rooms.anchor(proof)
            assert (receipt.block_number, receipt.revoked_block) == (None, None)
        assert len([record for record in caplog.records if "ALARM" in record.message]) == 2
        site.server.call("evm_setAutomine", True)
        again = await mined(rooms, site, kept, S.CONFIRMED)
        assert again.block_number == transaction_block(site, again)
        assert again.block_number > before.block_number
        once_more = await mined(rooms, site, gone, S.REVOKED)
        assert once_more == replace(again, status=S.REVOKED, revoked_block=revoked_block(site, gone))
        assert (once_more.revoked_block or 0) > before.block_number
        assert await rooms.anchor(older) == untouched
        assert transaction_block(site, untouched) == untouched.block_number

    tell(Anchorage(tmp_path, ledger=site.open()), story)


def test_nothing_unconfirmed_was_reported(patient_site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    site = patient_site

    async def story(rooms: Anchorage) -> None:
        [proof] = await rooms.queue()

        async def is_in_a_block() -> bool:
            return (await rooms.anchor(proof)).block_number is not None

        await worked(rooms, is_in_a_block)
        first = await rooms.anchor(proof)
        assert first.status is S.PENDING
        site.server.call("evm_setAutomine", False)
        site.server.mine(CONFIRMATIONS - 2)
        site.server.call("anvil_reorg", CONFIRMATIONS - 1, [])

        async def is_in_none() -> bool:
            return not await is_in_a_block()

        await worked(rooms, is_in_none)
        assert (await rooms.anchor(proof)).status is S.PENDING
        site.server.call("evm_setAutomine", True)
        receipt = await mined(rooms, site, proof, S.CONFIRMED)
        assert receipt.tx_hash == first.tx_hash, "the same bytes were sent again"
        assert receipt.block_number == transaction_block(site, receipt)
        assert not [record for record in caplog.records if "ALARM" in record.message]

    tell(Anchorage(tmp_path, ledger=site.open()), story)
