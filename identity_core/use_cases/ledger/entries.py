"""getLedgerTransaction and getLedgerBlock: what the ledger recorded, by hash and by block.

A ledger finds entries by DID and by sequence. A transaction's sequence stands in the transparency log, a block's is searched for,
since block numbers never go down: so both work over every ledger, and no ledger pays for an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.merkle.leaf import LogLeaf
from identity_core.errors import BlockNotFound, LedgerUnavailable, TransactionNotFound
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.ports.transparency import StoredTree
from identity_core.use_cases.ledger.project import LedgerFollower, leaf_of


@dataclass(frozen=True, slots=True)
class GetLedgerTransaction:
    """The entry with this transaction hash (64 hex digits). Raises ``TransactionNotFound``."""

    ledger: LedgerBackend
    tree: StoredTree
    follower: LedgerFollower

    async def __call__(self, transaction_hash: str) -> LogLeaf:
        found = await self._find(transaction_hash)
        if found is None:
            await self.follower.now()
            found = await self._find(transaction_hash)
        if found is None:
            raise TransactionNotFound(details={"transactionHash": transaction_hash})
        return leaf_of(found)

    async def _find(self, transaction_hash: str) -> LedgerEntry | None:
        for sequence in await self.tree.places(bytes.fromhex(transaction_hash)):
            lines = await self.ledger.entries_after(sequence - 1, 1)
            if lines and lines[0].receipt.transaction_hash == transaction_hash:
                return lines[0]
        return None


@dataclass(frozen=True, slots=True)
class Block:
    """The entries of one block, of which ``entries`` is a page."""

    number: int
    first: int
    last: int
    entries: Sequence[LogLeaf]


@dataclass(frozen=True, slots=True)
class GetLedgerBlock:
    """A block and its entries after the sequence ``after``. Raises ``BlockNotFound`` for one that is not there or that holds no
    entry."""

    ledger: LedgerBackend

    async def __call__(self, number: int, *, after: int, limit: int) -> Block:
        head = await self.ledger.head()
        first = await self._first_from(number, head.sequence)
        if first > head.sequence or (await self._at(first)).receipt.block_number != number:
            raise BlockNotFound(details={"blockNumber": number})
        last = await self._first_from(number + 1, head.sequence) - 1
        start = max(first - 1, after)
        lines = await self.ledger.entries_after(start, limit) if start < last else ()
        page = [leaf_of(line) for line in lines if line.receipt.sequence <= last]
        return Block(number, first, last, page)

    async def _first_from(self, number: int, end: int) -> int:
        """The first sequence in this block or a later one; ``end`` + 1 when there is none."""
        low, high = 1, end + 1
        while low < high:
            middle = (low + high) // 2
            if (await self._at(middle)).receipt.block_number < number:
                low = middle + 1
            else:
                high = middle
        return low

    async def _at(self, sequence: int) -> LedgerEntry:
        lines = await self.ledger.entries_after(sequence - 1, 1)
        if not lines:
            raise LedgerUnavailable("The ledger does not give an entry that it has.", details={"sequence": sequence})
        return lines[0]
