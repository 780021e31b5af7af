"""A log in one process, over a real ledger and a real store, and ways to keep it and to break it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import CheckpointSigner, LedgerFollower

from identity_codec import ed25519
from identity_core.plugin.sockets import BuildContext
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint, VerifierKey, sign_checkpoint
from identity_tlog.tiles import TileKey, bundled, edge_of, grown, levels_of, tiles_of
from identity_tlog.tree import Frontier, leaf_hash
from tests.did_use_cases import MovableClock
from tests.events import open_store

ORIGIN = "id.example/api/v1/ledger"
T = TypeVar("T")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(scenario)


class LogKey:
    """A custodian of one checkpoint key."""

    def __init__(self, seed: bytes | None = None) -> None:
        self.pair = ed25519.generate(seed or os.urandom(32))
        self.verifier = VerifierKey(ORIGIN, self.pair.public)

    async def sign(self, name: str, message: bytes) -> bytes:
        return self.pair.sign(message)

    def note(self, leaves: list[bytes]) -> bytes:
        """A signed checkpoint over any leaves."""
        tree = Frontier().appended(map(leaf_hash, leaves))
        checkpoint = Checkpoint(ORIGIN, tree.size, tree.root)
        return sign_checkpoint(checkpoint, self.verifier, self.pair.sign(checkpoint.text.encode()))


def open_ledger(folder: Path, clock: MovableClock, url: str | None) -> Any:
    """The SQL ledger in ``folder`` or on a server, beside other processes."""
    import identity_ledger_sql

    provider = identity_ledger_sql.identity_provide_ledger_backend()
    context = BuildContext(clock, logging.getLogger("test"), folder, url, workers=2)
    return provider.build(provider.settings(), context)


class LoggedLedger:
    """A ledger in ``folder`` with its log."""

    def __init__(self, folder: Path, url: str | None = None, *, ledger: Any = None) -> None:
        self.clock = MovableClock()
        self.ledger = ledger if ledger is not None else open_ledger(folder, self.clock, url)
        self.store = open_store(folder, url, processes=2)
        self.tree = TransparencyTree(self.store.database)
        self.key = LogKey()
        self.follower = LedgerFollower(self.ledger, self.tree)
        self.signer = CheckpointSigner(self.key, CheckpointKeys(self.key.verifier), self.clock)  # type: ignore[arg-type]

    async def append(self, count: int, prefix: str = "did:x:") -> None:
        """Entries of DIDs with up to three versions each."""
        for number in range(count):
            did, version = f"{prefix}{number // 3}", number % 3
            await self.ledger.append(did, b"%s entry %d" % (prefix.encode(), number), expected_version=version)

    async def signed(self) -> bytes:
        return await self.signer.signed(await self.follower.now())

    async def close(self) -> None:
        await self.store.close()
        await self.ledger.close()


def some_leaves(count: int, prefix: str = "did:x:") -> list[bytes]:
    """Leaves of a sound ledger, four entries a block."""
    clock = MovableClock()
    leaves = []
    for number in range(count):
        clock.move(microseconds=1500)
        did, version = f"{prefix}{number // 3}", number % 3 + 1
        hash_ = leaf_hash(b"%d" % number).hex()
        leaf = LogLeaf(number + 1, hash_, number // 4 + 1, clock.time, did, version, b'{"entry":%d}' % number)
        leaves.append(leaf.encode())
    return leaves


def tiles_over(leaves: list[bytes]) -> dict[TileKey, bytes]:
    tiles: dict[TileKey, bytes] = {}
    for start in range(0, len(leaves), 256):
        edge = {key: tiles[key] for key in edge_of(start)}
        tiles |= grown(start, edge, [leaf_hash(leaf) for leaf in leaves[start : start + 256]])
    return tiles


def write_log(folder: Path, leaves: list[bytes], note: bytes, *, tiles: dict[TileKey, bytes] | None = None) -> None:
    """A directory as `identity ledger export` writes it, whatever is in it."""
    hashes = tiles_over(leaves) if tiles is None else tiles
    for level in range(levels_of(len(leaves))):
        for tile in tiles_of(len(leaves), level):
            path = folder / "tile" / tile.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(hashes[level, tile.number])
    for bundle in tiles_of(len(leaves), None):
        path = folder / "tile" / bundle.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bundled(leaves[bundle.number * 256 : bundle.number * 256 + bundle.width]))
    (folder / "checkpoint").write_bytes(note)
