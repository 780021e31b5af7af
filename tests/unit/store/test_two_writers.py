"""Two processes write to one server at the same time, whatever their groups hold: none waits for the other in a circle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from identity_transparency.tree import TransparencyTree

from identity_core.database import Transaction
from identity_core.ports.key_store import Charge
from identity_core.store import Store
from identity_tlog.tree import Frontier, leaf_hash
from tests.events import ROW, links_hold, open_store, write_rows

LEAF = leaf_hash(b"1")
GROWTH = [LEAF], [LEAF]
# Ends each wait of this file that would never end.
PATIENCE_SECONDS = 30.0
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def url(new_stored_database: Callable[[], str]) -> str:
    return new_stored_database()


@pytest.fixture
def stores(tmp_path: Path, url: str) -> Iterator[list[Store]]:
    """As two replicas have them."""
    opened = [open_store(tmp_path, url) for _ in range(2)]
    yield opened
    for store in opened:
        asyncio.run(store.close())


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "neither came as far, nor was one kept waiting"
        time.sleep(0.01)


def blocked(connection: psycopg.Connection[tuple[int]]) -> bool:
    found = connection.execute(BLOCKED).fetchone()
    return found is not None and found[0] > 0


Work = Callable[[Store], Awaitable[object]]


async def tree(store: Store) -> None:
    await TransparencyTree(store.database).append(0, *GROWTH)


async def audit(store: Store) -> None:
    await write_rows(store, [ROW])


async def usage(store: Store) -> None:
    await store.usage.charge([Charge("records", "did:x:1", 1, 1, None, None)])


@pytest.mark.parametrize(("one", "other"), [(tree, audit), (tree, usage)])
def test_groups_that_write_the_same_rows_in_different_orders(
    stores: list[Store], url: str, one: Work, other: Work
) -> None:
    write_in_different_orders(stores, url, one, other)


def write_in_different_orders(stores: list[Store], url: str, one: Work, other: Work) -> None:
    """Write in opposite orders: each writer continues when the other has come halfway as well, or is blocked."""
    halfway = set[int]()

    async def group(number: int, first: Work, last: Work) -> None:
        store = stores[number]

        def pause(_: Transaction) -> None:
            halfway.add(number)
            with psycopg.connect(url, autocommit=True) as watching:
                until(lambda: len(halfway) == 2 or blocked(watching))

        async def paused() -> None:
            await store.database.write(pause)

        # What is submitted in one turn of the loop is one group.
        await asyncio.gather(first(store), paused(), last(store))

    async def scenario() -> None:
        await asyncio.gather(group(0, one, other), group(1, other, one))

    asyncio.run(scenario())
    assert [store.database.load().repeated for store in stores] == [0, 0], "one was undone, and run again"
    assert links_hold(stores[0])
    if one is tree:
        assert asyncio.run(TransparencyTree(stores[1].database).frontier()) == Frontier().appended([LEAF])
