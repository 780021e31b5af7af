"""getLedgerTile: tiles of hashes and bundles of entries, as C2SP tlog-tiles has them."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.merkle.tiles import WIDTH, Tile, bundled
from identity_core.domain.merkle.tree import HASH_BYTES
from identity_core.errors import TileNotFound
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.transparency import StoredTree
from identity_core.use_cases.ledger.project import LedgerFollower, leaf_of


@dataclass(frozen=True, slots=True)
class GetLedgerTile:
    """The octets of a tile or of a bundle. A partial tile is there as long as the log has that many entries, also when it is
    full by now. ``bundles`` False keeps entries back: those of deactivated DIDs would show in them.

    Raises ``TileNotFound``.
    """

    ledger: LedgerBackend
    tree: StoredTree
    follower: LedgerFollower
    bundles: bool

    async def __call__(self, tile: Tile) -> bytes:
        if tile.level is None:
            return await self._bundle(tile)
        hashes = await self._hashes(tile.level, tile)
        if len(hashes) < tile.width * HASH_BYTES:
            await self.follower.now()
            hashes = await self._hashes(tile.level, tile)
        if len(hashes) < tile.width * HASH_BYTES:
            raise TileNotFound(details={"tile": tile.path})
        return hashes[: tile.width * HASH_BYTES]

    async def _hashes(self, level: int, tile: Tile) -> bytes:
        return (await self.tree.tiles([(level, tile.number)])).get((level, tile.number), b"")

    async def _bundle(self, tile: Tile) -> bytes:
        if not self.bundles:
            raise TileNotFound("This log shows no entries.", details={"tile": tile.path})
        lines = await self.ledger.entries_after(tile.number * WIDTH, tile.width)
        if len(lines) < tile.width:
            raise TileNotFound(details={"tile": tile.path})
        return bundled([leaf_of(line).encode() for line in lines])
