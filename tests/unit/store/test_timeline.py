"""The timeline in the store: whom a row concerns, in what order rows come, and what filters leave."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from identity_core.ports.activity import TimelineEntry, TimelineQuery
from identity_core.store import Store

START = datetime(2026, 1, 1, tzinfo=UTC)
HANA, AKI, IVO, MALLORY = "did:ids:hana", "did:ids:aki", "did:ids:ivo", "did:ids:mallory"
ISSUED = TimelineEntry(
    START, "credential.issued", "done", f"did:{IVO}", holder=HANA, issuer=IVO, credential_id="urn:uuid:1"
)
PROVEN = TimelineEntry(
    START + timedelta(hours=1),
    "proof.generated",
    "done",
    f"did:{AKI}",
    holder=HANA,
    agent=AKI,
    issuer=IVO,
    delegation_id="d",
    credential_id="urn:uuid:1",
)
REFUSED = replace(
    PROVEN, at=START + timedelta(hours=2), kind="proof.refused", outcome="refused", code="PREDICATE_NOT_SATISFIED"
)
REVOKED = TimelineEntry(START + timedelta(hours=3), "delegation.revoked", "done", f"did:{HANA}", holder=HANA, agent=AKI)
ALL = (ISSUED, PROVEN, REFUSED, REVOKED)


def shown(store: Store, wish: TimelineQuery) -> list[TimelineEntry]:
    async def scenario() -> list[TimelineEntry]:
        for entry in ALL:
            await store.activity.write((entry,))
        return [row.entry for row in await store.timeline.list(wish)]

    return asyncio.run(scenario())


def test_everything_newest_first(store: Store) -> None:
    assert shown(store, TimelineQuery(None)) == list(reversed(ALL))


def test_holder_and_agent_see_what_concerns_them(store: Store) -> None:
    assert shown(store, TimelineQuery(frozenset({HANA}))) == list(reversed(ALL))
    again = asyncio.run(store.timeline.list(TimelineQuery(frozenset({AKI}), limit=2)))
    assert [row.entry for row in again] == [REVOKED, REFUSED]


def test_an_issuer_learns_nothing_of_the_use_of_a_credential(store: Store) -> None:
    assert shown(store, TimelineQuery(frozenset({IVO}))) == [ISSUED]


def test_strangers_see_nothing(store: Store) -> None:
    assert shown(store, TimelineQuery(frozenset({MALLORY, "%", "' OR '1'='1"}))) == []
    assert asyncio.run(store.timeline.list(TimelineQuery(frozenset()))) == []


def test_a_row_that_concerns_two_of_the_dids_comes_once(store: Store) -> None:
    assert shown(store, TimelineQuery(frozenset({HANA, AKI, IVO}))) == list(reversed(ALL))


def test_kinds_and_times(store: Store) -> None:
    assert shown(store, TimelineQuery(None, kind="proof")) == [REFUSED, PROVEN]

    async def scenario() -> None:
        async def kept(wish: TimelineQuery) -> list[TimelineEntry]:
            return [row.entry for row in await store.timeline.list(wish)]

        assert await kept(TimelineQuery(None, kind="proof.refused")) == [REFUSED]
        assert await kept(TimelineQuery(None, kind="pro")) == []
        assert await kept(TimelineQuery(None, since=PROVEN.at)) == [REVOKED, REFUSED, PROVEN]
        assert await kept(TimelineQuery(None, until=PROVEN.at)) == [ISSUED]
        assert await kept(TimelineQuery(frozenset({AKI}), since=REFUSED.at, until=REVOKED.at)) == [REFUSED]

    asyncio.run(scenario())


def test_pages_join_without_gap_or_repetition(store: Store) -> None:
    async def scenario() -> None:
        for minute in range(25):
            # Several rows of one microsecond are told apart by their random.
            await store.activity.write((replace(PROVEN, at=START + timedelta(minutes=minute // 5)),))
        seen: list[str] = []
        before: str | None = None
        while page := await store.timeline.list(TimelineQuery(frozenset({HANA}), before=before, limit=4)):
            seen += [row.id for row in page]
            before = page[-1].id
        assert len(seen) == len(set(seen)) == 25
        assert seen == sorted(seen, reverse=True)

    asyncio.run(scenario())
