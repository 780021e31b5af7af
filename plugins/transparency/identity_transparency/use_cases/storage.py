"""The check that ledger, index and tree are those that were written: at a start, while the service runs, and for the doctor.

The ledger is the record, and index and tree follow from it, so neither may have an entry that the ledger lacks. Databases that were
all restored together agree with each other, and only the separately stored checkpoint shows the rollback. A database may be ahead
of it but not behind, because everything was durable before it was noted.
"""

from __future__ import annotations

from msgspec import Struct

from identity_core.errors import StorageMismatch
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import DocumentIndex
from identity_core.use_cases.transparency import ProjectionCheck
from identity_tlog.tree import Malformed, Refuted, leaf_hash
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.remembered import Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import hashes_of, leaf_of


class CheckStorage(Struct, frozen=True):
    """The checks of the databases. Every method raises ``StorageMismatch``, with the finding as its message, and what the ports
    raise."""

    ledger: LedgerBackend
    index: DocumentIndex
    tree: TransparencyTree

    async def projections(self) -> None:
        """Check that the newest entry in the index, and the newest in the tree, are entries of the ledger.

        Index and tree are read first, so entries that are written meanwhile do no harm. Foreign rows are ignored here, because
        other code withholds them.
        """
        size = (await self.tree.frontier()).size
        await self._projected.index_entries(size)
        await self.entry(size)

    async def entry(self, number: int) -> None:
        """Check that this entry of the ledger, which both have, is the one in the tree."""
        if number and leaf_hash(leaf_of(await self._projected.entry(number)).encode()) != await self._root(
            number - 1, number
        ):
            raise StorageMismatch(
                f"Entry {number} of the ledger is not the one that was logged: the ledger is another one."
            )

    async def caught_up(self) -> None:
        """Wait until a ledger that reads its entries from elsewhere has all entries known here, or makes no progress."""
        await self._projected.caught_up((await self.tree.frontier()).size)

    async def remembered(self, kept: Remembered, keys: CheckpointKeys) -> None:
        """Check that the log contains the tree of the stored checkpoint, which is this log's own."""
        require_signed(kept, keys)
        checkpoint = kept.checkpoint
        await self.tree_of(checkpoint.size, checkpoint.root)

    async def tree_of(self, size: int, root: bytes) -> None:
        """Check that the log began with the tree of ``size`` with this root. If the tree has yet to grow to ``size``, check nothing
        more."""
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
    """Require that the stored checkpoint was signed with one of these keys. Raises ``StorageMismatch``."""
    try:
        keys.renamed(kept.checkpoint.origin).open(kept.note)
    except (Malformed, Refuted) as error:
        raise StorageMismatch(
            "The checkpoint that is remembered was signed with another key than the custodian has."
        ) from error
