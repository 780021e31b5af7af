"""getLedgerInclusionProof and getLedgerConsistencyProof, made from tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.merkle.leaf import LogLeaf
from identity_core.domain.merkle.proofs import Span, consistency_spans, inclusion_spans, span_hash
from identity_core.domain.merkle.tiles import needed, node_from
from identity_core.domain.merkle.tree import leaf_hash
from identity_core.errors import LogRangeInvalid
from identity_core.ports.transparency import StoredTree
from identity_core.use_cases.ledger.checkpoints import CheckpointSigner
from identity_core.use_cases.ledger.entries import GetLedgerTransaction
from identity_core.use_cases.ledger.project import LedgerFollower


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """That ``leaf`` is in the tree of ``size`` with ``root``. ``checkpoint`` is the signed note over that tree, None for a tree
    that was asked for by its size."""

    leaf: LogLeaf
    leaf_hash: bytes
    size: int
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: bytes | None


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """That the tree of ``second`` leaves begins with that of ``first``."""

    first: int
    second: int
    first_root: bytes
    second_root: bytes
    hashes: tuple[bytes, ...]


async def _hashes(tree: StoredTree, spans: Sequence[Span]) -> tuple[bytes, ...]:
    node = node_from(await tree.tiles(needed(spans)))
    return tuple(span_hash(span, node) for span in spans)


@dataclass(frozen=True, slots=True)
class GetLedgerInclusionProof:
    """For the entry with a transaction hash, in the tree of ``size`` or, with None, in the whole.

    Raises ``TransactionNotFound``; ``LogRangeInvalid`` when the log is smaller than ``size``, or was when the entry came.
    """

    tree: StoredTree
    follower: LedgerFollower
    signer: CheckpointSigner
    transaction: GetLedgerTransaction

    async def __call__(self, transaction_hash: str, size: int | None) -> InclusionProof:
        leaf = await self.transaction(transaction_hash)
        frontier = await self.follower.now()
        if size is not None and not leaf.index < size <= frontier.size:
            raise LogRangeInvalid(details={"sequence": leaf.sequence, "treeSize": frontier.size})
        checkpoint = await self.signer.signed(frontier) if size is None else None
        size = frontier.size if size is None else size
        *hashes, root = await _hashes(self.tree, [*inclusion_spans(leaf.index, size), (0, size)])
        return InclusionProof(leaf, leaf_hash(leaf.encode()), size, root, tuple(hashes), checkpoint)


@dataclass(frozen=True, slots=True)
class GetLedgerConsistencyProof:
    """Between two sizes; ``second`` None is the whole. Raises ``LogRangeInvalid``."""

    tree: StoredTree
    follower: LedgerFollower

    async def __call__(self, first: int, second: int | None) -> ConsistencyProof:
        frontier = await self.follower.now()
        second = frontier.size if second is None else second
        if not first <= second <= frontier.size:
            raise LogRangeInvalid(details={"first": first, "second": second, "treeSize": frontier.size})
        spans = consistency_spans(first, second)
        *hashes, old_root, new_root = await _hashes(self.tree, [*spans, (0, first), (0, second)])
        return ConsistencyProof(first, second, old_root, new_root, tuple(hashes))
