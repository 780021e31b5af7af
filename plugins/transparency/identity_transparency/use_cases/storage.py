"""The check that ledger, index and tree are those that were written: at a start, while the service runs, and for the doctor.

The ledger is the record, and index and tree follow from it, so neither may know an entry that the ledger does not have. Databases that
were all put back together agree with each other; what is remembered apart tells. Ahead is fine, behind is not: whatever is
compared with was durable before it was noted.
"""

from __future__ import annotations

from identity_codec.values import value_class
from identity_core.errors import StorageMismatch
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import DocumentIndex
from identity_core.use_cases.transparency import ProjectionCheck
from identity_tlog.tree import Malformed, Refuted, leaf_hash
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.remembered import Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import hashes_of, leaf_of


@value_class
class CheckStorage:
    """Every method raises ``StorageMismatch``, whose message says what was found; and what the ports raise."""

    ledger: LedgerBackend
    index: DocumentIndex
    tree: TransparencyTree

    async def projections(self) -> None:
        """The newest entry that the index knows, and the newest in the tree, are entries of the ledger. Index and tree are read first,
        so that what is written meanwhile does no harm. Rows that are not ours are withheld by others and say nothing here."""
        size = (await self.tree.frontier()).size
        await self._projected.index_entries(size)
        await self.entry(size)

    async def entry(self, number: int) -> None:
        """This entry of the ledger, which both have, is the one in the tree."""
        if number and leaf_hash(leaf_of(await self._projected.entry(number)).encode()) != await self._root(
            number - 1, number
        ):
            raise StorageMismatch(
                f"Entry {number} of the ledger is not the one that was logged: the ledger is another one."
            )

    async def caught_up(self) -> None:
        """Wait for a ledger that reads its entries from elsewhere until it has those that are known here, or gets no further."""
        await self._projected.caught_up((await self.tree.frontier()).size)

    async def remembered(self, kept: Remembered, keys: CheckpointKeys) -> None:
        """The log holds the tree of the checkpoint that is remembered, which is this log's own."""
        require_signed(kept, keys)
        checkpoint = kept.checkpoint
        await self.tree_of(checkpoint.size, checkpoint.root)

    async def tree_of(self, size: int, root: bytes) -> None:
        """The log began with the tree of ``size`` with this root. A tree that has yet to grow to it is looked at no further."""
        end = (await self.ledger.head()).sequence
        if end < size:
            raise StorageMismatch(
                f"The ledger ends at entry {end}, and {size} entries are remembered: {size - end} are lost."
            )
        if (await self.tree.frontier()).size >= size and await self._root(0, size) != root:
            raise StorageMismatch(
                f"The first {size} entries of the ledger are not those that are remembered: it is another ledger."
            )

    @property
    def _projected(self) -> ProjectionCheck:
        return ProjectionCheck(self.ledger, self.index)

    async def _root(self, start: int, end: int) -> bytes:
        """Return the root over the leaves from ``start`` to before ``end``."""
        try:
            (root,) = await hashes_of(self.tree, [(start, end)])
            return root
        except Malformed as error:
            raise StorageMismatch(f"The tree of the log has a hole: {error}.") from error


def require_signed(kept: Remembered, keys: CheckpointKeys) -> None:
    """Raise ``StorageMismatch`` where what is remembered was signed with another key than these."""
    try:
        keys.renamed(kept.checkpoint.origin).open(kept.note)
    except (Malformed, Refuted) as error:
        raise StorageMismatch(
            "The checkpoint that is remembered was signed with another key than the custodian has."
        ) from error
