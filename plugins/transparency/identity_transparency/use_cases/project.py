"""The projection of the ledger to the transparency log: at a start, in the background, and before an answer that needs it.

Writes never wait for it. The tree follows from the ledger alone, so after a crash it is done again. Several processes may do it at
once, because the store counts each growth once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from identity_did_ids.service_log import LogKeyHistory
from msgspec import Struct, field

from identity_core.errors import LedgerUnavailable, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, VerifierKey, sign_checkpoint
from identity_tlog.proofs import Span, span_hash
from identity_tlog.tiles import WIDTH, needed, node_from
from identity_tlog.tree import HASH_BYTES, Frontier, Malformed, leaf_hash
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import name_of, signing_still


def leaf_of(line: LedgerEntry) -> LogLeaf:
    """Return the leaf of a ledger entry."""
    receipt = line.receipt
    return LogLeaf(
        receipt.sequence,
        receipt.transaction_hash,
        receipt.block_number,
        receipt.recorded_at,
        line.did,
        line.version,
        line.entry,
    )


class LedgerFollower(Struct):
    """Projection of the ledger to the tree on demand, never twice at once in a process. ``WatchStorage`` calls it in the background."""

    ledger: LedgerBackend
    tree: TransparencyTree
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def now(self) -> Frontier:
        """Append the entries that only the ledger has, up to its end at the call. Return the tree.

        Raises ``StorageMismatch``: when the ledger contradicts the tree. It was rewound or changed, and a checkpoint over both
        would sign a fork.
        """
        async with self._turn:
            return await self._project()

    async def _project(self) -> Frontier:
        frontier = await self.tree.frontier()
        end = (await self.ledger.head()).sequence
        if end < frontier.size:
            raise _contradiction(end + 1)
        if 0 < end == frontier.size:
            # Nothing to append, which would have looked at the entry before.
            await self._lines_after(end - 1, 1)
        while frontier.size < end:
            frontier = await self._grow(frontier)
            await asyncio.sleep(0)
        return frontier

    async def _grow(self, frontier: Frontier) -> Frontier:
        """Append at most one tile. The entry before it is read again, to check that the ledger is still the logged one."""
        size = frontier.size
        known = min(size, 1)
        lines, hashes = await self._lines_after(size - known, WIDTH - size % WIDTH + known, known=known)
        transactions = [bytes.fromhex(line.receipt.transaction_hash) for line in lines[known:]]
        return await self.tree.append(size, hashes[known:], transactions)

    async def _lines_after(
        self, start: int, limit: int, *, known: int = 1
    ) -> tuple[Sequence[LedgerEntry], Sequence[bytes]]:
        """Return the entries after ``start`` and their leaf hashes; the first ``known`` of them, at most one, must be in the tree."""
        lines = await self.ledger.entries_after(start, limit)
        if [line.receipt.sequence for line in lines] != list(range(start + 1, start + len(lines) + 1)):
            raise _contradiction(start + known + 1)
        try:
            hashes = [leaf_hash(leaf_of(line).encode()) for line in lines]
        except Malformed as error:
            raise LedgerUnavailable(
                "The ledger holds an entry that cannot be logged.", details={"after": start + known}
            ) from error
        if known and (not hashes or hashes[0] != await self._last(start + 1)):
            raise _contradiction(start + 1)
        return lines, hashes

    async def _last(self, size: int) -> bytes:
        """Return the hash of the last leaf of a tree of ``size``."""
        number, place = divmod(size - 1, WIDTH)
        tile = (await self.tree.tiles([(0, number)])).get((0, number), b"")
        return tile[place * HASH_BYTES : (place + 1) * HASH_BYTES]


def _contradiction(sequence: int) -> StorageMismatch:
    return StorageMismatch(
        "The ledger is not the one that was logged; nothing is signed until an operator has looked at it.",
        details={"sequence": sequence},
    )


class CheckpointSigner(Struct):
    """The signer of the current tree. ``keys`` are those of the log, which ``read`` returns again. A process signs each tree once."""

    custodian: Custodian
    keys: CheckpointKeys
    clock: Clock
    read: Callable[[], Awaitable[CheckpointKeys]] | None = None
    _last: tuple[Frontier, bytes] | None = None

    @property
    def key(self) -> VerifierKey:
        """Return the signing key, which names the log."""
        return self.keys.present

    def renamed(self, origin: str) -> CheckpointSigner:
        """Return a signer of this log under another name, with the current keys."""
        return CheckpointSigner(self.custodian, self.keys.renamed(origin), self.clock)

    async def signed(self, frontier: Frontier) -> bytes:
        """Return the signed note over the tree: by the key in use, and by those before it that still sign. Raises as the custodian
        and a read of the service log do."""
        if self._last is not None and self._last[0] == frontier:
            return self._last[1]
        try:
            note = await self._signed(frontier)
        except KeyNotHeld:
            # Another process has replaced a stolen key a moment ago, and it is gone.
            note = await self._signed(frontier)
        self._last = (frontier, note)
        return note

    async def alone(self, frontier: Frontier) -> bytes:
        """Return the note signed by the key in use alone. Its bytes are the same at any time."""
        checkpoint = Checkpoint(self.key.name, frontier.size, frontier.root)
        signature = await self.custodian.sign(name_of(self.keys.number), checkpoint.text.encode())
        return sign_checkpoint(checkpoint, self.key, signature)

    async def _signed(self, frontier: Frontier) -> bytes:
        # Read after the tree was: one that has the entry of a replacement in it is signed by the new key.
        keys = await self.refresh()
        text = Checkpoint(keys.present.name, frontier.size, frontier.root).text
        signature = await self.custodian.sign(name_of(keys.number), text.encode())
        lines = [keys.present.line(signature)]
        for one in signing_still(keys.earlier, self.clock.now()):
            with contextlib.suppress(KeyNotHeld):
                lines.append(one.key.line(await self.custodian.sign(name_of(one.number), text.encode())))
        return f"{text}\n{''.join(lines)}".encode()

    async def hear(self, _: LogKeyHistory) -> None:
        """Take over the keys that the grown service log lists."""
        await self.refresh()

    async def refresh(self) -> CheckpointKeys:
        """Return the keys as the service log lists them now."""
        keys = self.keys if self.read is None else await self.read()
        self.keys = keys
        return keys


async def entry_at(ledger: LedgerBackend, sequence: int) -> LedgerEntry:
    """Return an entry that the ledger has. Raises ``LedgerUnavailable``: when it does not return it."""
    lines = await ledger.entries_after(sequence - 1, 1)
    if not lines:
        raise LedgerUnavailable("The ledger does not give an entry that it has.", details={"sequence": sequence})
    return lines[0]


async def hashes_of(tree: TransparencyTree, spans: Sequence[Span]) -> tuple[bytes, ...]:
    """Return the hashes over these spans of leaves. Raises ``Malformed``: when a tile is missing."""
    node = node_from(await tree.tiles(needed(spans)))
    return tuple(span_hash(span, node) for span in spans)


class TransparencyLog(Struct, frozen=True):
    """The ledger and the transparency log over it."""

    ledger: LedgerBackend
    tree: TransparencyTree
    follower: LedgerFollower
    signer: CheckpointSigner

    async def signed(self) -> bytes:
        """Return the signed checkpoint over everything that the ledger holds now."""
        return await self.signer.signed(await self.follower.now())
