"""Faults of chains: transactions that are dropped, outbid or refused, and blocks that are undone."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from identity_kit.conformance.ledger import check_lines, whole
from identity_ledger_evm.contract import call, word
from identity_ledger_evm.fees import Fees
from identity_ledger_evm.sender import Sender

from identity_core.errors import LedgerUnavailable
from identity_core.ports.ledger import AnchorTransaction, Receipt
from tests.evm_site import is_, until

T = TypeVar("T")

ROOT = b"\5" * 32
DID = "did:x:1"


def waiting(site: Any) -> dict[int, Any]:
    """The sender's transactions in the pool, by nonce."""
    pool = site.server.call("txpool_content")
    found: dict[int, Any] = {}
    for kind in ("pending", "queued"):
        for per_sender in pool[kind].values():
            found |= {int(nonce): one for nonce, one in per_sender.items()}
    return found


async def pooled(site: Any, count: int) -> dict[int, Any]:
    async def look() -> dict[int, Any]:
        return waiting(site)

    return await until(look, lambda found: len(found) >= count)


def mining(site: Any, look: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Return a check that mines a block for every few calls."""

    async def looked() -> T:
        await asyncio.sleep(0.1)
        site.server.mine()
        return await look()

    return looked


def anchored_in(site: Any, root: bytes = ROOT) -> int:
    what = {"to": site.settings.contract, "data": "0x" + call("anchored", root).hex()}
    return int(site.server.call("eth_call", what, "latest"), 16)


async def as_stranger(site: Any, key: str, data: bytes, *, to: str | None = None) -> None:
    """A transaction that the plugin knows nothing of, in a block of its own: the node answers before it makes one."""
    sender = Sender(key, site.settings.chain_id)
    nonce = int(site.server.call("eth_getTransactionCount", sender.address, "latest"), 16)
    signed = sender.sign(to or site.settings.contract, data, nonce=nonce, gas=200_000, fees=Fees(10**11, 10**9))
    sent = site.server.call("eth_sendRawTransaction", "0x" + signed.raw.hex())

    async def receipt() -> Any:
        return site.server.call("eth_getTransactionReceipt", sent)

    await until(receipt, bool)


def test_a_dropped_transaction_is_sent_again(still_chain: Any) -> None:
    site = still_chain()

    async def scenario() -> None:
        ledger = site.open()
        await ledger.submit_anchor(ROOT, 3)
        (first,) = (await pooled(site, 1)).values()
        site.server.call("anvil_dropTransaction", first["hash"])
        (again,) = (await pooled(site, 1)).values()
        assert again["hash"] == first["hash"], "the same bytes"
        site.server.mine()
        found = await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        assert found is not None
        assert "0x" + str(found.transaction_hash) == first["hash"]
        assert found.block_number == anchored_in(site)
        await ledger.close()

    asyncio.run(scenario())


def test_dropped_nonce_is_filled_by_own_transaction(still_chain: Any) -> None:
    site = still_chain()

    async def scenario() -> None:
        ledger = site.open()
        for n in range(3):
            await ledger.submit_anchor(bytes([n]) * 32, 1)
            await pooled(site, n + 1)
        pool = waiting(site)
        site.server.call("anvil_dropTransaction", pool[min(pool)]["hash"])
        for n in range(3):
            await until(mining(site, lambda n=n: ledger.anchor_status(bytes([n]) * 32)), is_("confirmed"))
        await ledger.close()

    asyncio.run(scenario())


def test_a_fee_spike_is_outbid_and_the_root_is_there_once(still_chain: Any) -> None:
    site = still_chain(bump_blocks=2)

    async def scenario() -> None:
        ledger = site.open()
        await ledger.submit_anchor(ROOT, 3)
        (first,) = (await pooled(site, 1)).values()
        spike = 20 * int(first["maxFeePerGas"], 16)

        async def blocks_go_by() -> AnchorTransaction | None:
            site.server.call("anvil_setNextBlockBaseFeePerGas", hex(spike))
            site.server.mine()
            await asyncio.sleep(0.15)
            return await ledger.anchor_status(ROOT)

        found = await until(blocks_go_by, is_("confirmed"))
        assert found is not None
        assert "0x" + str(found.transaction_hash) != first["hash"], "the first offer was too low for these blocks"
        assert found.block_number == anchored_in(site)
        known = await ledger.find_transaction(bytes.fromhex(first["hash"][2:]))
        assert known is not None
        assert known.hash is not None
        assert known.hash.hex() == found.transaction_hash, "the first hash leads to the one that was mined"
        await ledger.close()

    asyncio.run(scenario())


def test_above_the_cap_a_transaction_waits_and_says_so(site: Any) -> None:
    site.server.expensive()

    async def scenario() -> None:
        ledger = site.open(max_fee_gwei=0.000_001)
        with pytest.raises(LedgerUnavailable, match="was not recorded") as caught:
            await ledger.append(DID, b"1", expected_version=0)
        assert "max_fee_gwei" in str(caught.value.details["reason"])
        await ledger.submit_anchor(ROOT, 1)
        await until(lambda: ledger.anchor_status(ROOT), lambda found: found is not None and "max_fee" in found.reason)
        await ledger.close()
        again = site.open()
        await until(lambda: again.anchor_status(ROOT), is_("confirmed"))
        assert list(await again.entries(DID)) == []
        await again.close()

    asyncio.run(scenario())


def test_reorganisation_below_confirmations_is_only_delay(still_chain: Any) -> None:
    site = still_chain(confirmations=4, append_seconds=120.0)

    async def scenario() -> None:
        ledger = site.open()
        append = asyncio.ensure_future(ledger.append(DID, b"1", expected_version=0))
        await pooled(site, 1)
        await ledger.submit_anchor(ROOT, 1)
        await pooled(site, 2)
        site.server.mine()
        mined = await until(lambda: ledger.anchor_status(ROOT), is_("mined"))
        site.server.mine()
        site.server.call("anvil_reorg", 2, [])
        back = await until(lambda: ledger.anchor_status(ROOT), is_("submitted"))
        assert mined is not None
        assert back is not None
        assert back.block_number is None
        assert not append.done()
        await pooled(site, 2)
        site.server.mine(4)
        found = await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        receipt = await append
        assert found is not None
        assert found.transaction_hash == mined.transaction_hash, "the same bytes were sent again"
        assert found.block_number == receipt.block_number == anchored_in(site)
        check_lines(await whole(ledger), shared_chain=True)
        await ledger.close()

    asyncio.run(scenario())


def test_reorganisation_above_confirmations_is_repaired_and_told(
    own_chain: Any, caplog: pytest.LogCaptureFixture
) -> None:
    site = own_chain()

    async def scenario() -> None:
        ledger = site.open()
        receipts = [await ledger.append(DID, b"%d" % n, expected_version=n) for n in range(4)]
        await ledger.submit_anchor(ROOT, 1)
        await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        with caplog.at_level(logging.ERROR):
            site.server.call("anvil_reorg", 3, [])
            for _ in range(2):
                site.server.mine()
            await until(_false_then(lambda: anchored_in(site)), bool)
            found = await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        assert any("the chain took back blocks" in record.message for record in caplog.records)
        lines = await whole(ledger)
        assert [line.entry for line in lines] == [b"0", b"1", b"2", b"3"], "no entry was lost"
        hashes = [line.receipt.transaction_hash for line in lines]
        assert hashes == [receipt.transaction_hash for receipt in receipts], "the same bytes"
        assert found is not None
        assert found.block_number == anchored_in(site)
        check_lines(lines, shared_chain=True)
        await ledger.append(DID, b"4", expected_version=4)
        copy = site.open("copy")
        assert await whole(copy) == await whole(ledger), "the index is what a stranger reads from the chain"
        await copy.close()
        await ledger.close()

    asyncio.run(scenario())


def _false_then(look: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def call_look() -> Any:
        return look()

    return call_look


def test_a_nonce_that_nobody_has_any_more_is_filled(own_chain: Any, caplog: pytest.LogCaptureFixture) -> None:
    site = own_chain()

    async def scenario() -> None:
        ledger = site.open()
        await ledger.append(DID, b"0", expected_version=0)
        await as_stranger(site, site.settings.private_key, b"", to=Sender(site.settings.private_key, 31337).address)
        await ledger.append(DID, b"1", expected_version=1)
        # Takes the block of the stranger's transaction back and that of ours; only ours will be sent again.
        site.server.call("anvil_reorg", 2, [])
        await until(lambda: ledger.head(), lambda head: head.sequence == 2)
        copies = itertools.count()

        async def rebuilt() -> list[bytes]:
            copy = site.open(f"copy{next(copies)}")
            lines = await whole(copy)
            await copy.close()
            return [line.entry for line in lines]

        assert await until(rebuilt, lambda entries: len(entries) == 2) == [b"0", b"1"]
        assert any("fills the gap" in record.message for record in caplog.records)
        await ledger.close()

    asyncio.run(scenario())


def test_a_nonce_that_a_stranger_took_is_replaced(still_chain: Any) -> None:
    site = still_chain(append_seconds=120.0)

    async def scenario() -> None:
        ledger = site.open()
        append = asyncio.ensure_future(ledger.append(DID, b"0", expected_version=0))
        (ours,) = (await pooled(site, 1)).values()
        # The same key is used elsewhere too, with a better offer for the same nonce.
        sender = Sender(site.settings.private_key, 31337)
        fees = Fees(10**12, 10**11)
        other = sender.sign(sender.address, b"", nonce=int(ours["nonce"], 16), gas=21_000, fees=fees)
        site.server.call("eth_sendRawTransaction", "0x" + other.raw.hex())
        site.server.mine()
        await until(lambda: _pool(site), lambda pool: any(nonce > int(ours["nonce"], 16) for nonce in pool))
        site.server.mine()
        receipt = await append
        assert "0x" + receipt.transaction_hash != ours["hash"]
        assert [line.entry for line in await ledger.entries(DID)] == [b"0"]
        await ledger.close()

    asyncio.run(scenario())


async def _pool(site: Any) -> dict[int, Any]:
    return waiting(site)


def test_reverted_transaction_may_be_repeated(own_chain: Any) -> None:
    site = own_chain()

    async def scenario() -> None:
        ledger = site.open()
        await ledger.append(DID, b"0", expected_version=0)
        other = site.server.new_key()
        await as_stranger(site, site.settings.private_key, call("offer_ownership", _address(other)))
        await as_stranger(site, other, call("take_ownership"))
        with pytest.raises(LedgerUnavailable) as caught:
            await ledger.append(DID, b"1", expected_version=1)
        assert "not the owner" in str(caught.value.details["reason"])
        await ledger.submit_anchor(ROOT, 1)
        found = await until(lambda: ledger.anchor_status(ROOT), is_("failed"))
        assert found is not None
        assert "not the owner" in found.reason
        await as_stranger(site, other, call("offer_ownership", _address(site.settings.private_key)))
        await as_stranger(site, site.settings.private_key, call("take_ownership"))
        again = await ledger.submit_anchor(ROOT, 1)
        assert again.state == "submitted"
        await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        await ledger.append(DID, b"1", expected_version=1)
        assert len(await ledger.entries(DID)) == 2
        await ledger.close()

    asyncio.run(scenario())


def _address(key: str) -> bytes:
    return word(int(Sender(key, 1).address, 16))


def test_unknown_outcome_has_hash_and_is_found_later(still_chain: Any) -> None:
    site = still_chain(append_seconds=3.0)

    async def scenario() -> None:
        ledger = site.open()
        with pytest.raises(LedgerUnavailable, match="not confirmed yet") as caught:
            await ledger.append(DID, b"0", expected_version=0)
        assert caught.value.details["outcome"] == "unknown"
        sent = bytes.fromhex(str(caught.value.details["transactionHash"]))
        known = await ledger.find_transaction(sent)
        assert known is not None
        assert known.state == "submitted"
        site.server.mine()
        lines = await until(lambda: ledger.entries(DID), bool)
        assert lines[0].receipt.transaction_hash == sent.hex()
        # The entry is shown by one transaction, the end of what carried it is written by the next.
        await until(lambda: ledger.find_transaction(sent), is_("confirmed"))
        assert await ledger.find_transaction(bytes(32)) is None
        await ledger.close()

    asyncio.run(scenario())


def test_an_append_during_a_long_block_waits_for_its_own_block(own_chain: Any) -> None:
    site = own_chain("--block-time", "1", append_seconds=120.0, confirmations=2)

    async def scenario() -> list[Receipt]:
        ledger = site.open()
        receipts = await asyncio.gather(*(ledger.append(f"did:x:{n}", b"x", expected_version=0) for n in range(200)))
        check_lines(await whole(ledger), shared_chain=True)
        await ledger.close()
        return list(receipts)

    receipts = asyncio.run(scenario())
    assert len({receipt.transaction_hash for receipt in receipts}) <= 10, "appends that come together go together"
