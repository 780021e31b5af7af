"""The stored tree over the ledger: one row per tile, and one row for the head.

A leaf takes 34 bytes in tiles, and about 20 for the place of its transaction. Only the name of the log is durable. Everything else
is rebuilt from the ledger, byte by byte the same, after a loss of power. An append is one transaction, so a reader that sees a head
sees its tiles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import orjson

from identity_core.database import Database, DatabaseMismatch, Transaction
from identity_core.store.records import Repository
from identity_tlog.tiles import TileKey, edge_of, grown
from identity_tlog.tree import Frontier, Malformed

_HEAD = "SELECT size, peaks FROM transparency_head WHERE id = 1"
_MOVE_HEAD = "UPDATE transparency_head SET size = :size, peaks = :peaks WHERE id = 1"
_NAME = "UPDATE transparency_head SET origin = :origin WHERE id = 1 AND origin IS NULL"
_RENAME = "UPDATE transparency_head SET origin = :origin WHERE id = 1"
_SERVICE = "SELECT service_did FROM transparency_head WHERE id = 1"
_BEGIN_SERVICE = "UPDATE transparency_head SET service_did = :did WHERE id = 1 AND service_did IS NULL"
_ORIGIN = "SELECT origin FROM transparency_head WHERE id = 1"
_TILE = "SELECT hashes FROM transparency_tiles WHERE level = :level AND number = :number"
_KEEP_TILE = """
INSERT INTO transparency_tiles (level, number, hashes) VALUES (:level, :number, :hashes)
ON CONFLICT (level, number) DO UPDATE SET hashes = excluded.hashes
"""
# All places of a growth in one statement: row by row they would cost more than everything else together.
_KEEP_PLACES = {
    "sqlite": """
INSERT INTO transparency_places (prefix, sequence) SELECT value, :first + key FROM json_each(:prefixes)
""",
    "postgresql": """
INSERT INTO transparency_places (prefix, sequence) SELECT CAST(value AS bigint), :first + place - 1
FROM json_array_elements_text(CAST(:prefixes AS json)) WITH ORDINALITY AS each (value, place)
""",
}
_DROP = (
    # What they approve of is dropped, too.
    "DELETE FROM witness_files WHERE did IN (SELECT did FROM did_versions WHERE sequence > :sequence)",
    "DELETE FROM did_versions WHERE sequence > :sequence",
    "DELETE FROM projections WHERE sequence > :sequence",
    "DELETE FROM cosigned_checkpoints WHERE size > :sequence",
    "DELETE FROM transparency_tiles",
    "DELETE FROM transparency_places",
)
_PLACES = "SELECT sequence FROM transparency_places WHERE prefix = :prefix ORDER BY sequence"


class TransparencyTree(Repository):
    """The stored tree: tiles, frontier, and places by transaction hash. Several processes may append; each growth counts once."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._keep_places = _KEEP_PLACES[database.dialect]

    async def service_did(self) -> str | None:
        """Return the DID; None before the first rotation of the log key."""
        return await self._database.read(_service_did)

    async def begin_service(self, did: str) -> str:
        """Return the service's DID, which becomes ``did`` if there was none. Raises ``PluginUnavailable``, ``Overloaded``."""
        return await self._database.write(lambda writing: _begun(writing, did))

    async def named(self, origin: str) -> str:
        """Return the name with which the log began, which becomes this one if there was none. Raises ``PluginUnavailable``,
        ``Overloaded``."""
        # Only the first start has anything to write.
        return await self._database.read(_origin) or await self._database.write(lambda writing: _named(writing, origin))

    async def origin(self) -> str:
        """Return the name of the log; empty before the first start. Raises ``PluginUnavailable``."""
        return await self._database.read(_origin)

    async def rename(self, origin: str) -> None:
        """Give the log another name: from then on it is another log, with the same beginning. Raises ``PluginUnavailable``,
        ``Overloaded``."""
        await self._change(_RENAME, {"origin": origin})

    async def frontier(self) -> Frontier:
        """Return the current tree."""
        return await self._database.read(_frontier)

    async def append(self, size: int, leaves: Sequence[bytes], transactions: Sequence[bytes]) -> Frontier:
        """Append leaf hashes to a tree of ``size``, completely or not at all, and return the tree.

        ``transactions``: the transaction hash of each leaf, 32 bytes. If another process has changed the size, the tree is returned
        unchanged. The rows are not durable, because the ledger is.
        """

        def append(transaction: Transaction) -> Frontier:
            before = _frontier(transaction)
            if before.size != size:
                return before
            edge = _tiles(transaction, edge_of(size))
            for (level, number), hashes in grown(size, edge, leaves).items():
                transaction.execute(_KEEP_TILE, {"level": level, "number": number, "hashes": hashes})
            prefixes = orjson.dumps([_prefix(hash_) for hash_ in transactions]).decode()
            transaction.execute(self._keep_places, {"prefixes": prefixes, "first": size + 1})
            after = before.appended(leaves)
            transaction.execute(_MOVE_HEAD, {"size": after.size, "peaks": after.encode()})
            return after

        return await self._database.write(append, durable=False)

    async def drop_projections(self, sequence: int) -> None:
        """Delete projections of ledger entries after ``sequence``, and the whole tree, which is rebuilt. The ledger must have been
        rolled back to ``sequence``, and an operator must have accepted that."""

        def drop(transaction: Transaction) -> None:
            for statement in _DROP:
                transaction.execute(statement, {"sequence": sequence} if ":sequence" in statement else {})
            transaction.execute(_MOVE_HEAD, {"size": 0, "peaks": b""})

        await self._database.write(drop)

    async def tiles(self, wanted: Collection[TileKey]) -> Mapping[TileKey, bytes]:
        """Return the requested tiles that exist, each with its current width."""
        return await self._database.read(lambda transaction: _tiles(transaction, wanted))

    async def places(self, transaction: bytes) -> Sequence[int]:
        """Return the possible sequences of this transaction hash, mostly one. The ledger decides which is right."""
        return [row[0] for row in await self._rows(_PLACES, {"prefix": _prefix(transaction)})]


def _origin(transaction: Transaction) -> str:
    return str(transaction.execute(_ORIGIN).fetchone()[0] or "")


def _named(transaction: Transaction, origin: str) -> str:
    transaction.execute(_NAME, {"origin": origin})
    return _origin(transaction)


def _frontier(transaction: Transaction) -> Frontier:
    size, peaks = transaction.execute(_HEAD).fetchone()
    try:
        return Frontier.decode(size, bytes(peaks))
    except Malformed as error:
        raise DatabaseMismatch(f"the head of the tree was changed: {error}") from error


def _tiles(transaction: Transaction, wanted: Collection[TileKey]) -> dict[TileKey, bytes]:
    found = {}
    for level, number in wanted:
        row = transaction.execute(_TILE, {"level": level, "number": number}).fetchone()
        if row is not None:
            found[level, number] = bytes(row[0])
    return found


def _prefix(hash_: bytes) -> int:
    """Return the first 63 bits of a hash, because 64 bits could be negative in a column."""
    return int.from_bytes(hash_[:8], "big") >> 1


def _service_did(transaction: Transaction) -> str | None:
    found: str | None = transaction.execute(_SERVICE).fetchone()[0]
    return found


def _begun(transaction: Transaction, did: str) -> str:
    transaction.execute(_BEGIN_SERVICE, {"did": did})
    found = _service_did(transaction)
    return did if found is None else found
