"""The log over real ledgers: projected, proven, never signed over a contradiction."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_ledger_memory import MemoryLedger
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import LedgerFollower, leaf_of
from identity_transparency.use_cases.read import LedgerReads
from identity_transparency.wire import (
    GetLedgerBlockQuery,
    GetLedgerCheckpointQuery,
    GetLedgerConsistencyProofQuery,
    GetLedgerInclusionProofQuery,
)

from identity_codec.multibase import base64url_decode
from identity_core.errors import (
    BlockNotFound,
    LedgerUnavailable,
    LogRangeInvalid,
    StorageMismatch,
    TileNotFound,
    TransactionNotFound,
)
from identity_core.ports.ledger import LedgerEntry
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import open_checkpoint
from identity_tlog.proofs import verify_consistency, verify_inclusion
from identity_tlog.tiles import Tile, bundled, tiles_of, unbundled
from identity_tlog.tree import EMPTY_ROOT, Frontier, leaf_hash
from tests.did_use_cases import MovableClock
from tests.stored import new_stored_database, postgres_server
from tests.transparency import LoggedLedger, run

__all__ = ["new_stored_database", "postgres_server"]

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["sql", "memory", pytest.param("postgresql", marks=pytest.mark.nightly)])
def logged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LoggedLedger]:
    url = request.getfixturevalue("new_stored_database")() if request.param == "postgresql" else None
    made = LoggedLedger(tmp_path, url, ledger=MemoryLedger(MovableClock()) if request.param == "memory" else None)
    yield made
    run(made.close())


async def leaves_of(logged: LoggedLedger) -> list[bytes]:
    return [leaf_of(line).encode() for line in await logged.ledger.entries_after(0, 10_000)]


def reads_of(logged: LoggedLedger, *, bundles: bool = True) -> LedgerReads:
    return LedgerReads(logged, lambda: None, bundles)


def test_the_tree_is_that_of_the_entries(logged: LoggedLedger) -> None:
    async def scenario() -> None:
        assert (await logged.follower.now()).root == EMPTY_ROOT
        for count in (1, 2, 300, 250):
            await logged.append(count, f"did:{count}:")
            assert await logged.follower.now() == Frontier().appended(map(leaf_hash, await leaves_of(logged)))
        data = await reads_of(logged).checkpoint(GetLedgerCheckpointQuery())
        assert open_checkpoint(data, logged.key.verifier).checkpoint.size == 553
        assert await reads_of(logged).checkpoint(GetLedgerCheckpointQuery()) is data

    run(scenario())


def query_for(leaf: bytes, size: int | None) -> GetLedgerInclusionProofQuery:
    return GetLedgerInclusionProofQuery(transaction=LogLeaf.parse(leaf).transaction_hash, size=size)


def test_proofs_verify(logged: LoggedLedger) -> None:
    async def scenario() -> None:
        await logged.append(300)
        leaves = await leaves_of(logged)
        prove = reads_of(logged).inclusion
        for index in (0, 255, 256, 299):
            leaf = LogLeaf.parse(leaves[index])
            for size in (None, 300, index + 1):
                proof = await prove(query_for(leaves[index], size))
                assert (proof.leaf, proof.size) == (leaf, size or 300)
                assert proof.root == Frontier().appended(map(leaf_hash, leaves[: proof.size])).root
                verify_inclusion(proof.leaf_hash, index, proof.size, proof.hashes, proof.root)
                assert (proof.checkpoint is None) == (size is not None)
        with pytest.raises(LogRangeInvalid):
            await prove(query_for(leaves[299], 299))
        with pytest.raises(LogRangeInvalid):
            await prove(query_for(leaves[0], 301))
        consistency = reads_of(logged).consistency
        for first, second in ((0, 300), (1, None), (256, 257), (300, 300), (0, 0)):
            grown = await consistency(GetLedgerConsistencyProofQuery(first=first, second=second))
            hashes = map(base64url_decode, (grown.first_root_hash, grown.second_root_hash, *grown.hashes))
            before, after, *steps = hashes
            verify_consistency(first, before, grown.second, after, steps)
        for first, second in ((301, None), (2, 1), (0, 301)):
            with pytest.raises(LogRangeInvalid):
                await consistency(GetLedgerConsistencyProofQuery(first=first, second=second))

    run(scenario())


def test_entries_are_found_by_hash_and_by_block(logged: LoggedLedger) -> None:
    async def scenario() -> None:
        await asyncio.gather(*(logged.ledger.append(f"did:g:{n}", b"%d" % n, expected_version=0) for n in range(40)))
        await logged.append(10)
        lines = await logged.ledger.entries_after(0, 100)
        transaction = reads_of(logged).transaction
        assert [await transaction(line.receipt.transaction_hash) for line in lines] == [leaf_of(line) for line in lines]
        with pytest.raises(TransactionNotFound):
            await transaction("0" * 64)
        block = reads_of(logged).block
        for number in {line.receipt.block_number for line in lines}:
            expected = [line.receipt.transaction_hash for line in lines if line.receipt.block_number == number]
            found = await block(number, GetLedgerBlockQuery(limit=1000))
            assert [one.transaction_hash for one in found.items] == expected
            assert (found.first_sequence, found.last_sequence) == (found.items[0].sequence, found.items[-1].sequence)
            page = await block(number, GetLedgerBlockQuery(after=found.first_sequence, limit=2))
            assert [one.transaction_hash for one in page.items] == expected[1:3]
            assert (await block(number, GetLedgerBlockQuery(after=found.last_sequence, limit=2))).items == ()
        with pytest.raises(BlockNotFound):
            await block(lines[-1].receipt.block_number + 1, GetLedgerBlockQuery())

    run(scenario())


def test_a_block_without_entries_is_not_found(logged: LoggedLedger) -> None:
    async def scenario() -> None:
        await logged.append(2)
        anchor = await logged.ledger.submit_anchor(bytes(32), 1)
        await logged.append(2, "did:y:")
        with pytest.raises(BlockNotFound):
            await reads_of(logged).block(anchor.block_number, GetLedgerBlockQuery())
        assert (await logged.follower.now()).size == 4

    run(scenario())


def test_tiles_and_bundles(logged: LoggedLedger) -> None:
    async def scenario() -> None:
        await logged.append(300)
        leaves = await leaves_of(logged)
        tile = reads_of(logged).tile
        assert await tile(Tile(0, 0)) == b"".join(map(leaf_hash, leaves[:256]))
        assert await tile(Tile(0, 0, 9)) == b"".join(map(leaf_hash, leaves[:9]))
        assert await tile(Tile(0, 1, 44)) == b"".join(map(leaf_hash, leaves[256:]))
        assert await tile(Tile(1, 0, 1)) == Frontier().appended(map(leaf_hash, leaves[:256])).root
        assert [one for place in tiles_of(300, None) for one in unbundled(await tile(place))] == leaves
        assert await tile(Tile(None, 1, 2)) == bundled(leaves[256:258])
        for missing in (Tile(0, 1), Tile(0, 1, 45), Tile(1, 0, 2), Tile(2, 0, 1), Tile(None, 1), Tile(None, 10**12)):
            with pytest.raises(TileNotFound):
                await tile(missing)
        with pytest.raises(TileNotFound, match="shows no entries"):
            await reads_of(logged, bundles=False).tile(Tile(None, 0))

    run(scenario())


def test_a_crash_between_two_pages_costs_nothing(tmp_path: Path) -> None:
    """A projector that dies in the middle of a page, again and again, ends in the same tree."""

    class Dies(Exception):
        pass

    async def scenario() -> None:
        logged = LoggedLedger(tmp_path)
        await logged.append(1500)
        for deaths in range(3):
            tree, calls = logged.tree, iter(range(deaths))

            class Mortal:
                frontier, tiles, places = tree.frontier, tree.tiles, tree.places

                async def append(self, *growth: Any, tree: Any = tree, calls: Any = calls) -> Any:
                    if next(calls, None) is None:
                        raise Dies
                    return await tree.append(*growth)

            with pytest.raises(Dies):
                await LedgerFollower(logged.ledger, Mortal()).now()
            await logged.store.close()
            logged.store = type(logged.store).open(tmp_path)
            logged.tree = TransparencyTree(logged.store.database)
        logged.follower = LedgerFollower(logged.ledger, logged.tree)
        assert await logged.follower.now() == Frontier().appended(map(leaf_hash, await leaves_of(logged)))
        await logged.close()

    run(scenario())


def test_a_lost_tree_is_made_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        logged = LoggedLedger(tmp_path)
        await logged.append(400)
        before = await logged.follower.now()
        await logged.store.close()
        for file in tmp_path.glob("identity.sqlite*"):
            file.unlink()
        logged.store = type(logged.store).open(tmp_path)
        logged.follower = LedgerFollower(logged.ledger, TransparencyTree(logged.store.database))
        assert await logged.follower.now() == before
        await logged.close()

    run(scenario())


PROCESS = """
import asyncio, sys
from pathlib import Path
from tests.transparency import LoggedLedger

async def main():
    logged = LoggedLedger(Path(sys.argv[1]), *sys.argv[2:])
    while (await logged.follower.now()).size < 1000:
        await asyncio.sleep(0.001)
    await logged.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_processes_that_follow_at_once_make_one_tree(
    tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("new_stored_database")() if where == "postgresql" else None

    async def scenario() -> None:
        logged = LoggedLedger(tmp_path, url)
        command = [sys.executable, "-c", PROCESS, str(tmp_path), *([url] if url else [])]
        followers = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(2)]
        for part in range(10):
            await logged.append(100, f"did:{part}:")
            await logged.follower.now()
        for process in followers:
            _, errors = await asyncio.to_thread(process.communicate, timeout=300)
            assert process.returncode == 0, errors.decode()
        assert await logged.follower.now() == Frontier().appended(map(leaf_hash, await leaves_of(logged)))
        await logged.close()

    run(scenario())


def tamper(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM ledger_entries WHERE sequence > 20",
        "DELETE FROM ledger_entries WHERE sequence = 30",
        "UPDATE ledger_entries SET entry = x'00' WHERE sequence = 30",
        "UPDATE ledger_entries SET recorded_at = recorded_at + 1 WHERE sequence = 30",
    ],
)
def test_a_contradiction_is_never_signed(tmp_path: Path, sql: str) -> None:
    """The ledger was put back from a copy, or its newest entry was changed, and went on."""

    async def scenario() -> None:
        logged = LoggedLedger(tmp_path)
        await logged.append(30)
        await logged.follower.now()
        await logged.ledger.close()
        tamper(tmp_path, sql)
        again = LoggedLedger(tmp_path)
        await again.append(3, "did:new:")
        with pytest.raises(StorageMismatch, match="not the one that was logged"):
            await reads_of(again).checkpoint(GetLedgerCheckpointQuery())
        assert (await again.tree.frontier()).size == 30
        await again.close()
        await logged.store.close()

    run(scenario())


def test_an_entry_that_no_bundle_holds_is_said(tmp_path: Path) -> None:
    class Huge(MemoryLedger):
        async def entries_after(self, sequence: int, limit: int) -> list[LedgerEntry]:
            found = await super().entries_after(sequence, limit)
            return [LedgerEntry(line.did, line.version, bytes(70_000), line.receipt) for line in found]

    async def scenario() -> None:
        logged = LoggedLedger(tmp_path, ledger=Huge(MovableClock()))
        await logged.append(1)
        with pytest.raises(LedgerUnavailable, match="cannot be logged"):
            await logged.follower.now()
        await logged.close()

    run(scenario())
