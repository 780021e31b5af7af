"""Stored replies of holders: the first one counts, also among processes, and none is stored longer than it is valid."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from identity_consents.extension import identity_extend
from identity_consents.store import ConsentReply, StoredConsentReplies
from identity_operations.commands.extensions_remove import purge_tables, tables_of

from identity_core.extension.choice import in_order, read_store
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.use_cases.background import CLOCK_SET_BACK, FIRST, ForgetRows
from tests.did_use_cases import MovableClock
from tests.unit.extension.test_choice import settings
from tests.unit.extension.test_extensions import source
from tests.unit.store.test_two_writers import audit, stores, write_in_different_orders

__all__ = ["settings", "stores"]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ON_A_SERVER = pytest.mark.parametrize("url", ["postgresql"], indirect=True)


def reply(name: str, answer: bytes = b"yes", end: datetime = NOW) -> ConsentReply:
    return ConsentReply(hashlib.sha256(name.encode()).digest(), answer, end)


def test_one_of_many_concurrent_replies_is_stored(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        second = Store.open(tmp_path, url)
        try:
            both = [StoredConsentReplies(each.database) for each in (store, second)]
            answers = [reply("one", bytes([turn])) for turn in range(16)]
            each = await asyncio.gather(*(both[turn % 2].keep(one) for turn, one in enumerate(answers)))
            assert sum(each) == 1
            assert await both[1].find(answers[0].digest) == answers[each.index(True)]
            assert await both[0].find(reply("other").digest) is None
        finally:
            await second.close()

    asyncio.run(scenario())


def test_only_expired_replies_are_deleted(store: Store) -> None:
    async def scenario() -> None:
        replies = StoredConsentReplies(store.database)
        ends = [NOW + timedelta(seconds=seconds) for seconds in (-1, 0, 1)]
        for number, end in enumerate(ends):
            assert await replies.keep(reply(str(number), end=end))
        assert await replies.forget(NOW, limit=1) == 1
        assert await replies.forget(NOW, limit=10) == 1
        left = [await replies.find(reply(str(number)).digest) for number in range(3)]
        assert [one is not None for one in left] == [False, False, True]

    asyncio.run(scenario())


def test_expired_replies_are_deleted_while_the_service_runs(store: Store) -> None:
    async def scenario() -> None:
        replies, clock = StoredConsentReplies(store.database), MovableClock()
        for number in range(FIRST + 1):
            await replies.keep(reply(str(number), end=clock.time))
        await replies.keep(reply("valid", end=clock.time + timedelta(seconds=1)))
        forget = ForgetRows(replies.forget, clock)
        assert await forget.step() == forget.interval_seconds
        assert await replies.find(reply("0").digest) is not None, "a clock that is set back reopens no request"
        clock.time += CLOCK_SET_BACK
        assert await forget.step() < 1, "there are more"
        assert await forget.step() == forget.interval_seconds
        assert await replies.find(reply("0").digest) is None
        assert await replies.find(reply("valid").digest) is not None

    asyncio.run(scenario())


@ON_A_SERVER
def test_row_that_another_process_is_changing_is_skipped(store: Store, url: str) -> None:
    async def scenario() -> None:
        replies = StoredConsentReplies(store.database)
        kept = [ConsentReply(bytes([number]) * 32, b"sealed", NOW) for number in range(3)]
        for one in kept:
            await replies.keep(one)
        with psycopg.connect(url) as other:
            other.execute("SELECT 1 FROM consent_replies WHERE digest = %s FOR UPDATE", [kept[0].digest])
            # A process that waits fails after the lock timeout of the server.
            assert await replies.forget(NOW, limit=9) == 2
        assert await replies.forget(NOW, limit=9) == 1

    asyncio.run(scenario())


async def one_reply(store: Store) -> None:
    await StoredConsentReplies(store.database).keep(ConsentReply(bytes(32), b"sealed", NOW))


async def other_reply(store: Store) -> None:
    await StoredConsentReplies(store.database).keep(ConsentReply(bytes(31) + b"1", b"sealed", NOW))


@ON_A_SERVER
@pytest.mark.parametrize("other", [audit, other_reply])
def test_groups_that_write_the_same_rows_in_different_orders(stores: list[Store], url: str, other: object) -> None:
    write_in_different_orders(stores, url, one_reply, other)  # type: ignore[arg-type]


def test_purge_empties_the_table_and_replies_are_stored_again(settings: Settings) -> None:
    async def keep() -> bool:
        opened = Store.open(settings.data_dir)
        try:
            return await StoredConsentReplies(opened.database).keep(reply("one"))
        finally:
            await opened.close()

    assert asyncio.run(keep())
    (one,) = in_order([(source("consents"), identity_extend())])
    tables = read_store(settings, lambda reading: tables_of(reading, "sqlite", one.declared, [one]))
    assert tables == ["consent_replies", "consents_migrations", "consents_requests"]
    purge_tables(settings, one.declared, tables)
    assert asyncio.run(keep())
