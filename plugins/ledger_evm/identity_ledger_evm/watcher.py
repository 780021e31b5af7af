"""Follows the chain: what became of our transactions, and what the contract has recorded.

One way into the index: the contract's events up to the block that has the wanted confirmations, read in order, with the
contract's own count as the proof that none is missing. It is the same way after a restart, for an empty database, and for
entries of another writer. A transaction of ours is final when the index has passed its block and that block is still there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from identity_core.database import Database, Transaction
from identity_ledger_evm import anchors, appends, index, outgoing
from identity_ledger_evm.chain import Block, Chain, Event, Mined
from identity_ledger_evm.contract import CallUnreadable, Item, read_append
from identity_ledger_evm.index import Cursor, Indexed
from identity_ledger_evm.node import NodeAway, NodeError
from identity_ledger_evm.outgoing import Outgoing
from identity_ledger_evm.station import Station


class ChainUnreadable(NodeError):
    """The contract's owner has recorded what cannot be read; the index cannot go on."""


class Settled(Struct, frozen=True):
    """A final transaction, and why it was reverted; empty when it was not."""

    outgoing: Outgoing
    mined: Mined
    failure: str


class Watcher:
    """Follows one contract. Only the holder of the lease may call it."""

    def __init__(self, station: Station, chain: Chain, logger: logging.Logger) -> None:
        self._station = station
        self._chain = chain
        self._logger = logger
        self._blocks: dict[int, Block] = {}
        self._seen = b""

    @property
    def _database(self) -> Database:
        return self._station.database

    async def follow(self, head: Block) -> bool:
        """Bring everything up to ``head``. Return whether anything has changed."""
        if head.hash == self._seen:
            return False
        # What is asked of one block in one look is asked once.
        self._blocks = {head.number: head}
        observed = await self._observe(head)
        final = head.number - self._station.settings.confirmations + 1
        changed = await self._undo(head) or await self._catch_up(final, head)
        changed = await self._settle(observed) or changed
        self._seen = head.hash
        return changed

    async def _block(self, number: int) -> Block | None:
        if number not in self._blocks:
            found = await self._chain.block(number)
            if found is None:
                return None
            self._blocks[number] = found
        return self._blocks[number]

    async def _observe(self, head: Block) -> list[tuple[Outgoing, Mined]]:
        """Look up receipts of all open transactions. Return those that are in a block."""
        found: list[tuple[Outgoing, Mined]] = []
        open_ones = await self._database.read(outgoing.open_ones)
        for one, mined in zip(open_ones, await asyncio.gather(*map(self._receipt, open_ones)), strict=True):
            if mined is not None:
                found.append((one, mined))
            if (one.block_hash, one.hash) != ((mined.block_hash, mined.hash) if mined else (None, one.hash)):
                await self._station.write(partial(_mark, one=one, mined=mined, head=head.number))
        return found

    async def _receipt(self, one: Outgoing) -> Mined | None:
        for attempt in await self._database.read(lambda transaction: outgoing.attempts(transaction, one.id)):
            mined = await self._chain.mined(attempt.hash)
            if mined is not None:
                return mined
        return None

    async def _undo(self, head: Block) -> bool:
        """Move the cursor back if its block was replaced: more was undone than the confirmations allow for."""
        at = await self._database.read(index.cursor)
        if not at.hash or head.number < at.number:
            # A node behind the others has nothing to say about it.
            return False
        now = await self._block(at.number)
        if now is None or now.hash == at.hash:
            return False
        number, block_hash = await self._common_block(at.number)
        reopened = await self._station.write(lambda transaction: _reopen(transaction, number, block_hash, head.number))
        self._logger.error(
            "the chain took back blocks %d to %d, which had %d confirmations; %d transactions are sent again",
            number + 1,
            at.number,
            self._station.settings.confirmations,
            reopened,
        )
        return True

    async def _common_block(self, below: int) -> tuple[int, bytes]:
        """Return the newest block of ours that is still there; what lies before it is not looked at again."""
        candidate = await self._database.read(partial(outgoing.block_below, number=below + 1))
        while candidate is not None:
            number, block_hash = candidate
            now = await self._block(number)
            if now is not None and now.hash == block_hash:
                return number, block_hash
            candidate = await self._database.read(partial(outgoing.block_below, number=number))
        return self._station.settings.from_block - 1, b""

    async def _catch_up(self, final: int, head: Block) -> bool:
        """Read the contract's events up to block ``final``; whether there were any blocks to read."""
        moved = await self._read_to(final)
        at = await self._database.read(index.cursor)
        # A node behind the others does not know whether more was confirmed.
        if at.number <= head.number and not await self._database.read(index.was_read):
            await self._station.write(index.end_first_read)
        return moved

    async def _read_to(self, final: int) -> bool:
        at = await self._database.read(index.cursor)
        moved = False
        first = max(at.number, 0)
        if not at.hash and final <= first:
            # A contract without confirmed entries is told from a chain that was never read: by the block before it, or the chain's first.
            await self._read_blocks(Cursor(first - 1, b"", 0), first, is_newest=False)
            return True
        while at.number < final:
            last = min(final, at.number + self._station.settings.log_blocks)
            at = await self._read_blocks(at, last, is_newest=last == final)
            moved = True
        return moved

    async def _read_blocks(self, at: Cursor, last: int, *, is_newest: bool) -> Cursor:
        end = await self._block(last)
        if end is None:
            raise NodeAway(f"the node has no block {last}")
        # Older states are kept by archive nodes only; what is missing there shows in the numbers of the next events.
        asks_count = self._chain.count(last) if is_newest else None
        events, count = await asyncio.gather(self._chain.events(at.number + 1, last), asks_count or _unknown())
        recorded = [event for event in events if event.name == "Recorded"]
        wanted = range(at.sequence + 1, at.sequence + len(recorded) + 1)
        if [event.number(1) for event in recorded] != list(wanted):
            raise NodeAway("the node leaves out events of the contract")
        if count not in (None, at.sequence + len(recorded)):
            raise NodeAway("the node leaves out the newest events of the contract")
        entries = await self._entries(recorded)
        digests = [one for one in map(_anchored, events) if one is not None]
        to = Cursor(last, end.hash, at.sequence + len(recorded))

        def job(transaction: Transaction) -> None:
            index.advance(transaction, entries, to)
            for one in digests:
                anchors.confirm(transaction, one)

        await self._station.write(job)
        return to

    async def _entries(self, recorded: Sequence[Event]) -> list[Indexed]:
        times: dict[bytes, int] = {}
        inputs: dict[bytes, list[Item]] = {}
        entries = []
        for event in recorded:
            if event.block_hash not in times:
                block = await self._block(event.block_number)
                if block is None or block.hash != event.block_hash:
                    raise NodeAway("the chain changed while it was read")
                times[event.block_hash] = block.timestamp
            if event.transaction_hash not in inputs:
                inputs[event.transaction_hash] = await self._items(event.transaction_hash)
            item = _item_of(event, inputs[event.transaction_hash])
            at = times[event.block_hash]
            entries.append(Indexed(event.number(1), item, event.transaction_hash, event.block_number, at))
        return entries

    async def _items(self, transaction_hash: bytes) -> list[Item]:
        own = await self._database.read(lambda transaction: outgoing.by_hash(transaction, transaction_hash))
        data = own.data if own is not None else await self._chain.input(transaction_hash)
        try:
            return read_append(data)
        except CallUnreadable as error:
            raise ChainUnreadable(f"transaction 0x{transaction_hash.hex()} cannot be read: {error}") from error

    async def _settle(self, observed: Sequence[tuple[Outgoing, Mined]]) -> bool:
        """End what the index has passed."""
        at = await self._database.read(index.cursor)
        settled = []
        blocks: dict[int, bytes] = {}
        for one, mined in observed:
            if mined.block_number > at.number:
                continue
            if mined.block_number not in blocks:
                block = await self._block(mined.block_number)
                blocks[mined.block_number] = b"" if block is None else block.hash
            if blocks[mined.block_number] == mined.block_hash:
                settled.append(Settled(one, mined, await self._failure(one, mined)))
        if settled:
            await self._station.write(lambda transaction: _end(transaction, settled))
        return bool(settled)

    async def _failure(self, one: Outgoing, mined: Mined) -> str:
        if mined.succeeded:
            return ""
        said = await self._chain.refusal(self._station.sender, one.data) if one.kind != "filler" else ""
        self._logger.error("transaction 0x%s was reverted: %s", mined.hash.hex(), said or "the node does not say why")
        return f"the contract refused the transaction: {said}" if said else "the transaction was reverted"


async def _unknown() -> None:
    return None


def _mark(transaction: Transaction, one: Outgoing, mined: Mined | None, head: int) -> None:
    if mined is None:
        outgoing.back(transaction, one.id, head)
        return
    outgoing.set_state(
        transaction, one.id, "mined", digest=mined.hash, block_number=mined.block_number, block_hash=mined.block_hash
    )


def _reopen(transaction: Transaction, number: int, block_hash: bytes, head: int) -> int:
    index.rewind(transaction, number, block_hash)
    anchors.reopen(transaction, number)
    return outgoing.reopen(transaction, number, head)


def _end(transaction: Transaction, settled: Sequence[Settled]) -> None:
    for one in settled:
        mined = one.mined
        outgoing.set_state(
            transaction,
            one.outgoing.id,
            "failed" if one.failure else "confirmed",
            digest=mined.hash,
            block_number=mined.block_number,
            block_hash=mined.block_hash,
            reason=one.failure,
        )
        if one.outgoing.kind == "append":
            appends.decide(transaction, one.outgoing.id, one.failure)
        else:
            anchors.fail(transaction, one.outgoing.id, one.failure or "the contract did not record it")


def _anchored(event: Event) -> anchors.Confirmed | None:
    if event.name == "Anchored":
        return anchors.Confirmed(
            "anchor", event.words[0], min(event.number(1), 2**63 - 1), event.transaction_hash, event.block_number
        )
    if event.name == "Revoked":
        return anchors.Confirmed("revocation", event.words[0], 0, event.transaction_hash, event.block_number)
    return None


def _item_of(event: Event, items: Sequence[Item]) -> Item:
    for item in items:
        if item.key == event.words[0] and item.expected + 1 == event.number(2) and item.digest == event.words[3]:
            return item
    raise ChainUnreadable(f"transaction 0x{event.transaction_hash.hex()} has no bytes for one of its events")
