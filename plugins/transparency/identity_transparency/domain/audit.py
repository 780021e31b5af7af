"""An auditor of a log, which reports each fault.

The caller feeds it bundle by bundle, and it rebuilds the tree from the entries alone. It compares that with the served tiles, with
the checkpoint, and with checkpoints that were stored earlier. The caller reads the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from identity_client.status_list import StatusListRefused
from identity_tlog.leaf import Head, LogLeaf, read_head
from identity_tlog.note import Checkpoint
from identity_tlog.tiles import TILE_BYTES, WIDTH, Tile
from identity_tlog.tree import HASH_BYTES, Frontier, Malformed, complete_root
from identity_transparency.domain import gap_record
from identity_transparency.domain.gap_record import GapRecord

MOST_FINDINGS: Final = 1_000
MOST_MOVED: Final = 64

_GAP_LISTS: Final = gap_record.SUBJECT.encode()

_sha256 = hashlib.sha256


class LogFault(Struct, frozen=True):
    """One fault of a log.

    ``kind`` is one of: signature, fork, missing-tail, missing, root, entry, moved, order, tile, form, contradiction. The reader of
    the log adds: log, contradiction, index.
    """

    kind: str
    where: str
    says: str


class Audit:
    """One audit of a log with ``checkpoint``; ``held`` are stored checkpoints of it with verified signatures."""

    def __init__(self, checkpoint: Checkpoint, held: Sequence[Checkpoint]) -> None:
        self.findings: list[LogFault] = []
        self._checkpoint = checkpoint
        self._held = sorted(held, key=lambda one: one.size)
        self._frontier = Frontier()
        self._levels: list[bytearray] = []
        self._before: Head | None = None
        self._versions: dict[bytes, int] = {}
        self._editions: dict[tuple[str, int], int] = {}
        self._doubtful: list[tuple[int, str]] = []

    @property
    def size(self) -> int:
        """Return the number of entries so far."""
        return self._frontier.size

    def feed(self, leaves: Sequence[bytes], tile: bytes) -> None:
        """Add the next bundle, which has 256 entries unless it is the last, and the served tile of level 0 over it."""
        start = self.size
        hashes = [_sha256(b"\x00" + leaf).digest() for leaf in leaves]
        data = b"".join(hashes)
        if data != tile:
            self._compare(start, leaves, hashes, tile)
        for place, leaf in enumerate(leaves, start + 1):
            self._read(place, leaf)
        self._check_held(hashes)
        if len(data) == TILE_BYTES:
            root = complete_root(data)
            self._frontier = self._frontier.appended([root], height=8)
            self._keep(root)
        else:
            self._frontier = self._frontier.appended(hashes)

    def compare_tile(self, tile: Tile, data: bytes) -> None:
        """Compare a served tile of a higher level, after all entries were fed."""
        level = tile.level or 0
        start = tile.number * TILE_BYTES
        own = bytes(self._levels[level - 1][start : start + tile.width * HASH_BYTES])
        if data != own:
            self._report("tile", f"tile {tile.path}", "it is not what the tiles below it make")

    def missing(self, tile: Tile, reason: str) -> None:
        """Report a tile or bundle that could not be fetched."""
        self._report("missing", f"tile {tile.path}", reason)

    def close(self) -> None:
        """Report faults that only the whole log shows: of the root, and of the stored checkpoints."""
        signed = self._checkpoint
        sound = self.size == signed.size and self._frontier.root == signed.root
        for sequence, says in self._doubtful:
            if sound:
                self._report(
                    "tile", f"entry {sequence}", "the tile over it holds another hash; the entry is what was signed"
                )
            else:
                self._report("entry", f"entry {sequence}", says)
        if self.size < signed.size:
            self._report("missing-tail", f"entry {self.size + 1}", f"the checkpoint covers {signed.size} entries")
        elif not sound and not self.findings:
            self._report(
                "root", f"checkpoint of {signed.size}", "entries and tiles agree, and were not what was signed"
            )
        elif not sound:
            self._report("root", f"checkpoint of {signed.size}", "its root is not that of the entries")
        for one in self._held:
            says = f"a kept checkpoint covers {one.size} entries, the log has {self.size}"
            self._report("missing-tail", f"entry {self.size + 1}", says)

    def _check_held(self, hashes: Sequence[bytes]) -> None:
        """Compare the kept checkpoints that end within the bundle."""
        while self._held and self._held[0].size <= self.size + len(hashes):
            held = self._held.pop(0)
            root = self._frontier.appended(hashes[: held.size - self.size]).root
            if root != held.root:
                says = "a kept checkpoint signs another beginning of the log: the signer of both has forked it"
                self._report("fork", f"checkpoint of {held.size}", says)

    def _keep(self, root: bytes) -> None:
        """Build the levels above as far as they are full."""
        for level in range(64):
            if len(self._levels) == level:
                self._levels.append(bytearray())
            held = self._levels[level]
            held += root
            if len(held) % TILE_BYTES:
                return
            root = complete_root(bytes(held[-TILE_BYTES:]))

    def _read(self, place: int, leaf: bytes) -> None:
        """Check the rules between an entry and the one before."""
        try:
            head = read_head(leaf)
        except Malformed as error:
            self._report("form", f"entry {place}", str(error))
            return
        before, self._before = self._before, head
        if head.sequence != place:
            self._report("order", f"entry {place}", f"it says that it is entry {head.sequence}")
        elif before is not None and (head.block < before.block or head.recorded <= before.recorded):
            self._report("order", f"entry {place}", "its block or its time is before that of the entry before it")
        version = self._versions.get(head.did, 0) + 1
        if head.version != version:
            did = head.did.decode("utf-8", "replace")
            self._report("order", f"entry {place}", f"it is version {head.version} of {did}, expected was {version}")
        self._versions[head.did] = head.version
        if head.did.startswith(_GAP_LISTS):
            self._read_gap_list(place, head.did, leaf[head.entry_at :])

    def _read_gap_list(self, place: int, subject: bytes, entry: bytes) -> None:
        """Report two lists of one edition of an epoch, because different holders could see different ones."""
        try:
            record = GapRecord.parse(entry)
        except StatusListRefused as error:
            self._report("form", f"entry {place}", str(error))
            return
        if gap_record.subject(record.list_id).encode() != subject:
            self._report("contradiction", f"entry {place}", "it is recorded under another list's name")
        known = self._editions.get((record.list_id, record.epoch), 0)
        if record.edition <= known:
            says = f"it is edition {record.edition} of epoch {record.epoch} of list {record.list_id}, of which edition {known} was recorded"
            self._report("contradiction", f"entry {place}", says)
        self._editions[record.list_id, record.epoch] = max(known, record.edition)

    def _compare(self, start: int, leaves: Sequence[bytes], hashes: Sequence[bytes], tile: bytes) -> None:
        served = [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]
        if len(served) != len(hashes):
            says = f"the tile has {len(served)} hashes for {len(hashes)} entries"
            self._report("tile", f"tile {start // WIDTH} of level 0", says)
            return
        wrong = [place for place, (own, other) in enumerate(zip(hashes, served, strict=True)) if own != other]
        moved = _moved(leaves, hashes, served, wrong[:MOST_MOVED])
        for place in wrong:
            says = "it is not what was logged there"
            if place in moved:
                self._report(
                    "moved", f"entry {start + place + 1}", f"it was logged as entry {start + moved[place] + 1}"
                )
            self._doubtful.append((start + place + 1, says))

    def _report(self, kind: str, where: str, says: str) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(LogFault(kind, where, says))


def _moved(
    leaves: Sequence[bytes], hashes: Sequence[bytes], served: Sequence[bytes], wrong: Sequence[int]
) -> dict[int, int]:
    """Return the original places of entries in a bundle that was reordered, even if places, blocks and times were exchanged to hide
    it."""
    places = {served[place]: place for place in wrong}
    moved = {place: places[hashes[place]] for place in wrong if hashes[place] in places}
    try:
        parsed = {place: LogLeaf.parse(leaves[place]) for place in wrong}
    except Malformed:
        return moved
    for place, leaf in parsed.items():
        for other, there in parsed.items():
            for block, recorded in ((leaf.block_number, leaf.recorded_at), (there.block_number, there.recorded_at)):
                was = LogLeaf(
                    there.sequence, leaf.transaction_hash, block, recorded, leaf.did, leaf.version, leaf.entry
                ).encode()
                if other != place and _sha256(b"\x00" + was).digest() == served[other]:
                    moved[place] = other
    return moved
