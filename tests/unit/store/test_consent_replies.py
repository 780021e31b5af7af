"""Answers of holders: the first one counts, also among processes, and none outlives its time."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from identity_core.ports.consents import ConsentReply
from identity_core.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def reply(name: str, answer: bytes = b"yes", end: datetime = NOW) -> ConsentReply:
    return ConsentReply(hashlib.sha256(name.encode()).digest(), answer, end)


def test_of_many_answers_at_once_one_is_kept(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        second = Store.open(tmp_path, url)
        try:
            both = (store, second)
            answers = [reply("one", bytes([turn])) for turn in range(16)]
            each = await asyncio.gather(*(both[turn % 2].consent_replies.keep(one) for turn, one in enumerate(answers)))
            assert sum(each) == 1
            assert await second.consent_replies.find(answers[0].digest) == answers[each.index(True)]
            assert await store.consent_replies.find(reply("other").digest) is None
        finally:
            await second.close()

    asyncio.run(scenario())


def test_what_has_expired_goes_and_nothing_else(store: Store) -> None:
    async def scenario() -> None:
        ends = [NOW + timedelta(seconds=seconds) for seconds in (-1, 0, 1)]
        for number, end in enumerate(ends):
            assert await store.consent_replies.keep(reply(str(number), end=end))
        assert await store.consent_replies.forget(NOW, limit=1) == 1
        assert await store.consent_replies.forget(NOW, limit=10) == 1
        left = [await store.consent_replies.find(reply(str(number)).digest) for number in range(3)]
        assert [one is not None for one in left] == [False, False, True]

    asyncio.run(scenario())
