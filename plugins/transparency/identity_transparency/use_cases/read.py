"""getLedgerTransaction and getLedgerBlock: what the ledger recorded, by hash and by block.

A ledger finds entries by DID and by sequence. A transaction's sequence is in the transparency log. A block's is searched for,
because block numbers never decrease. So both work with every ledger, without an index of its own.

getLedgerTile: tiles of hashes and bundles of entries, as C2SP tlog-tiles has them.

getLedgerInclusionProof and getLedgerConsistencyProof, made from tiles. getLedgerCheckpoint: the log's signature over its tree.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from identity_codec import multikey
from identity_codec.multibase import base64url_encode
from identity_codec.times import printed
from identity_core.errors import BlockNotFound, LogRangeInvalid, TileNotFound, TransactionNotFound
from identity_core.ports.ledger import LedgerEntry
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, Note
from identity_tlog.proofs import TlogProof, consistency_spans, inclusion_spans
from identity_tlog.tiles import WIDTH, Tile, bundled
from identity_tlog.tree import HASH_BYTES, leaf_hash
from identity_transparency.domain.checkpoint_keys import EarlierKey
from identity_transparency.use_cases.project import TransparencyLog, entry_at, hashes_of, leaf_of
from identity_transparency.wire import (
    EarlierLedgerKey,
    GetLedgerBlockQuery,
    GetLedgerCheckpointQuery,
    GetLedgerConsistencyProofQuery,
    GetLedgerInclusionProofQuery,
    LedgerBlock,
    LedgerBlockEntry,
    LedgerConsistencyProof,
    LedgerKey,
)


class InclusionProof(Struct, frozen=True):
    """The proof that ``leaf`` is in the tree of ``size`` with ``root``. ``checkpoint`` is the signed note over that tree, None for a tree
    that was requested by its size."""

    leaf: LogLeaf
    leaf_hash: bytes
    size: int
    root: bytes
    hashes: tuple[bytes, ...]
    checkpoint: bytes | None


class LedgerReads(Struct, frozen=True):
    """The operations that read the ``log``. ``newest`` returns the last checkpoint that a quorum cosigned. ``bundles`` False withholds the
    bundles of entries, because they would show those of deactivated DIDs."""

    log: TransparencyLog
    newest: Callable[[], bytes | None]
    bundles: bool

    async def transaction(self, name: str) -> LogLeaf:
        """Return the entry with this transaction hash (64 hex digits, with ``0x`` before them if a tool of EVM chains wrote it). Raises
        ``TransactionNotFound``."""
        transaction_hash = name.removeprefix("0x")
        found = await self._find(transaction_hash)
        if found is None:
            await self.log.follower.now()
            found = await self._find(transaction_hash)
        if found is None:
            raise TransactionNotFound(details={"transactionHash": transaction_hash})
        return leaf_of(found)

    async def _find(self, transaction_hash: str) -> LedgerEntry | None:
        for sequence in await self.log.tree.places(bytes.fromhex(transaction_hash)):
            lines = await self.log.ledger.entries_after(sequence - 1, 1)
            if lines and lines[0].receipt.transaction_hash == transaction_hash:
                return lines[0]
        return None

    async def block(self, number: int, query: GetLedgerBlockQuery) -> LedgerBlock:
        """Return a block and its entries after the sequence that the query names. Raises ``BlockNotFound``: for an unknown block or one
        without entries."""
        ledger = self.log.ledger
        head = await ledger.head()
        first = await self._first_from(number, head.sequence)
        if first > head.sequence or (await entry_at(ledger, first)).receipt.block_number != number:
            raise BlockNotFound(details={"blockNumber": number})
        last = await self._first_from(number + 1, head.sequence) - 1
        start = max(first - 1, query.after)
        lines = await ledger.entries_after(start, query.limit) if start < last else ()
        page = tuple(_block_entry(line) for line in lines if line.receipt.sequence <= last)
        shown = page[-1].sequence if page else last
        return LedgerBlock(
            block_number=number,
            first_sequence=first,
            last_sequence=last,
            items=page,
            next_after=shown if shown < last else None,
        )

    async def _first_from(self, number: int, end: int) -> int:
        """Return the first sequence in this block or a later one; ``end`` + 1 when there is none."""
        low, high = 1, end + 1
        while low < high:
            middle = (low + high) // 2
            if (await entry_at(self.log.ledger, middle)).receipt.block_number < number:
                low = middle + 1
            else:
                high = middle
        return low

    async def tile(self, tile: Tile) -> bytes:
        """Return the bytes of a tile or of a bundle. A partial tile exists as soon as the log has that many entries, also after it is
        full. Raises ``TileNotFound``."""
        if tile.level is None:
            return await self._bundle(tile)
        hashes = await self._hashes(tile.level, tile)
        if len(hashes) < tile.width * HASH_BYTES:
            await self.log.follower.now()
            hashes = await self._hashes(tile.level, tile)
        if len(hashes) < tile.width * HASH_BYTES:
            raise TileNotFound(details={"tile": tile.path})
        return hashes[: tile.width * HASH_BYTES]

    async def _hashes(self, level: int, tile: Tile) -> bytes:
        return (await self.log.tree.tiles([(level, tile.number)])).get((level, tile.number), b"")

    async def _bundle(self, tile: Tile) -> bytes:
        if not self.bundles:
            raise TileNotFound("This log shows no entries.", details={"tile": tile.path})
        lines = await self.log.ledger.entries_after(tile.number * WIDTH, tile.width)
        if len(lines) < tile.width:
            raise TileNotFound(details={"tile": tile.path})
        return bundled([leaf_of(line).encode() for line in lines])

    async def inclusion(self, query: GetLedgerInclusionProofQuery) -> InclusionProof:
        """Return the inclusion proof of the entry with a transaction hash, in the tree of the requested size, by default the whole.

        Raises ``TransactionNotFound``; ``LogRangeInvalid``: when the log is smaller than that, or that tree does not have the entry.
        """
        leaf, size = await self.transaction(query.transaction), query.size
        frontier = await self.log.follower.now()
        if size is not None and not leaf.index < size <= frontier.size:
            raise LogRangeInvalid(details={"sequence": leaf.sequence, "treeSize": frontier.size})
        checkpoint = await self.log.signer.signed(frontier) if size is None else None
        size = frontier.size if size is None else size
        *hashes, root = await hashes_of(self.log.tree, [*inclusion_spans(leaf.index, size), (0, size)])
        return InclusionProof(leaf, leaf_hash(leaf.encode()), size, root, tuple(hashes), checkpoint)

    async def consistency(self, query: GetLedgerConsistencyProofQuery) -> LedgerConsistencyProof:
        """Return the consistency proof between two sizes; the second is by default the whole log. Raises ``LogRangeInvalid``."""
        frontier = await self.log.follower.now()
        first, second = query.first, frontier.size if query.second is None else query.second
        if not first <= second <= frontier.size:
            raise LogRangeInvalid(details={"first": first, "second": second, "treeSize": frontier.size})
        spans = consistency_spans(first, second)
        hashes = await hashes_of(self.log.tree, [*spans, (0, first), (0, second)])
        *steps, first_root, second_root = map(base64url_encode, hashes)
        return LedgerConsistencyProof(
            first=first, second=second, first_root_hash=first_root, second_root_hash=second_root, hashes=tuple(steps)
        )

    async def checkpoint(self, query: GetLedgerCheckpointQuery) -> bytes:
        """Return the newest cosigned checkpoint. If there is none, or the query names a ``quorum``, it is the signed checkpoint over all
        entries of the ledger."""
        note = self.newest() if query.quorum is None else None
        return await self.log.signed() if note is None else note

    async def prove(self, sequence: int) -> bytes:
        """Return the C2SP tlog-proof of the entry of the ledger with a sequence, under the newest cosigned checkpoint that covers it.
        Until witnesses have cosigned it, it has only the log's signature."""
        leaf = leaf_of(await entry_at(self.log.ledger, sequence))
        note = self.newest()
        if note is None or _size(note) <= leaf.index:
            note = await self.log.signed()
        hashes = await hashes_of(self.log.tree, inclusion_spans(leaf.index, _size(note)))
        return TlogProof(leaf.index, hashes, note, leaf.encode()).encode()

    async def key(self) -> LedgerKey:
        """Return the name of the log, the key that signs its checkpoints, those before it, and the DID whose log lists the keys that sign
        entries."""
        key = self.log.signer.key
        public = multikey.encode_public(multikey.ED25519, key.public)
        return LedgerKey(
            origin=key.name,
            verifier_key=str(key),
            public_key_multibase=public,
            service_did=await self.log.tree.service_did(),
            earlier_keys=tuple(map(_earlier, self.log.signer.keys.earlier)),
        )


def _earlier(one: EarlierKey) -> EarlierLedgerKey:
    return EarlierLedgerKey(
        verifier_key=str(one.key),
        public_key_multibase=multikey.encode_public(multikey.ED25519, one.key.public),
        number=one.number,
        tree_size=one.tree_size,
        replaced_at=printed(one.replaced_at),
        compromised=one.is_compromised,
        succession=None if one.succession is None else one.succession.decode(),
    )


def _block_entry(line: LedgerEntry) -> LedgerBlockEntry:
    return LedgerBlockEntry(
        sequence=line.receipt.sequence,
        did=line.did,
        version_id=line.version,
        timestamp=printed(line.receipt.recorded_at),
        transaction_hash=line.receipt.transaction_hash,
    )


def _size(note: bytes) -> int:
    return Checkpoint.parse(Note.parse(note).text).size
