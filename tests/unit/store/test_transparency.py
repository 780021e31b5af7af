"""The stored tree: whole or not at all, once, the same in any steps and by any number of processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from identity_transparency.tree import TransparencyTree

from identity_core.errors import PluginUnavailable
from identity_core.store import Store
from identity_tlog.tree import Frontier, leaf_hash
from tests.transparency import run, tiles_over

HASHES = [leaf_hash(b"%d" % number) for number in range(1200)]
TRANSACTIONS = [leaf_hash(b"t%d" % number) for number in range(1200)]


def growth(first: int, end: int) -> tuple[list[bytes], list[bytes]]:
    return HASHES[first:end], TRANSACTIONS[first:end]


def test_it_grows_in_steps(store: Store) -> None:
    async def scenario() -> None:
        tree = TransparencyTree(store.database)
        assert await tree.frontier() == Frontier()
        for first, end in pairwise([0, 1, 200, 256, 257, 900, 1200]):
            assert await tree.append(first, *growth(first, end)) == Frontier().appended(HASHES[:end])
        assert await tree.frontier() == Frontier().appended(HASHES)
        expected = tiles_over([b"%d" % number for number in range(1200)])
        assert await tree.tiles([*expected, (0, 5), (2, 0)]) == expected
        for place in (0, 255, 256, 1199):
            assert await tree.places(TRANSACTIONS[place]) == [place + 1]
        assert await tree.places(bytes(32)) == []

    run(scenario())


def test_the_log_keeps_the_name_that_it_began_with(store: Store) -> None:
    async def scenario() -> None:
        tree = TransparencyTree(store.database)
        names = ["127.0.0.1:8080/log", "127.0.0.1:8081/log"]
        one, other = await asyncio.gather(*map(tree.named, names))
        assert one == other
        assert one in names
        await tree.append(0, *growth(0, 3))
        assert await tree.named("id.example.org/log") == one

    run(scenario())


def test_a_growth_counts_once(store: Store) -> None:
    async def scenario() -> None:
        tree = TransparencyTree(store.database)
        await tree.append(0, *growth(0, 300))
        assert await tree.append(0, *growth(0, 300)) == Frontier().appended(HASHES[:300])
        assert (await tree.append(7, *growth(7, 20))).size == 300
        outcomes = await asyncio.gather(*(tree.append(300, *growth(300, 350)) for _ in range(20)))
        assert {one.size for one in outcomes} == {350}
        assert await tree.frontier() == Frontier().appended(HASHES[:350])

    run(scenario())


def test_two_transactions_of_one_beginning_are_both_found(store: Store) -> None:
    async def scenario() -> None:
        twins = [bytes(8) + b"a" * 24, bytes(8) + b"b" * 24]
        await TransparencyTree(store.database).append(0, HASHES[:2], twins)
        assert await TransparencyTree(store.database).places(twins[1]) == [1, 2]

    run(scenario())


def test_a_growth_that_breaks_leaves_nothing(store: Store) -> None:
    async def scenario() -> None:
        tree = TransparencyTree(store.database)
        await tree.append(0, *growth(0, 255))
        with pytest.raises(Exception, match=r"bytes-like|sequence item"):
            await tree.append(255, [HASHES[255], "no hash"], TRANSACTIONS[255:257])  # type: ignore[list-item]
        assert await tree.frontier() == Frontier().appended(HASHES[:255])
        assert await tree.append(255, *growth(255, 600)) == Frontier().appended(HASHES[:600])

    run(scenario())


def test_a_closed_database_is_unavailable(store: Store) -> None:
    async def scenario() -> None:
        await store.close()
        with pytest.raises(PluginUnavailable):
            await TransparencyTree(store.database).frontier()
        with pytest.raises(PluginUnavailable):
            await TransparencyTree(store.database).append(0, *growth(0, 1))

    run(scenario())


PROCESS = """
import asyncio, sys
from pathlib import Path
from identity_tlog.tree import leaf_hash
from identity_transparency.tree import TransparencyTree
from identity_core.store import Store

async def main():
    store = Store.open(Path(sys.argv[1]), *sys.argv[2:], processes=2)
    tree, size = TransparencyTree(store.database), 0
    while size < 1200:
        numbers = range(size, min(size + 7, 1200))
        leaves, places = [leaf_hash(b"%d" % n) for n in numbers], [leaf_hash(b"t%d" % n) for n in numbers]
        size = (await tree.append(size, leaves, places)).size
    await store.close()

asyncio.run(main())
"""


def test_processes_that_append_at_once_make_one_tree(store: Store, tmp_path: Path, url: str | None) -> None:
    command = [sys.executable, "-c", PROCESS, str(tmp_path), *([] if url is None else [url])]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()

    async def scenario() -> None:
        assert await TransparencyTree(store.database).frontier() == Frontier().appended(HASHES)
        expected = tiles_over([b"%d" % number for number in range(1200)])
        assert await TransparencyTree(store.database).tiles(expected) == expected
        assert [await TransparencyTree(store.database).places(one) for one in TRANSACTIONS[::100]] == [
            [n + 1] for n in range(0, 1200, 100)
        ]

    run(scenario())
