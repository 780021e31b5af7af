"""A key counts in the state in which the service left it, and in no other, whatever ends a change in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from identity_kit.conformance.key_store import WritableKeyStoreConformance, key
from identity_records.audit import audit_of

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey
from identity_core.errors import PluginUnavailable
from identity_core.store import Store
from identity_core.use_cases.auth.tagged import UNFINISHED, KeyStoreWatch, TaggedKeys
from identity_core.use_cases.record import Record
from tests.did_use_cases import START, MovableClock
from tests.events import audit_rows, open_store
from tests.unit.use_cases.auth.memory_keys import MemoryKeys


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path, secret=b"\x01" * 32)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def keys(store: Store) -> TaggedKeys:
    return TaggedKeys(MemoryKeys(), store.api_key_tags, MovableClock())


class TestTagged(WritableKeyStoreConformance):
    """It is a store like any other."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[TaggedKeys]:  # type: ignore[override]
        opened = open_store(tmp_path, secret=b"\x01" * 32)
        yield TaggedKeys(MemoryKeys(), opened.api_key_tags, MovableClock())
        asyncio.run(opened.close())


REVOKED = replace(key("one"), revoked_at=START)


@pytest.mark.parametrize(
    "edited",
    [
        replace(key("one"), name="another"),
        replace(key("one"), scopes=None),
        replace(key("one"), allowed_targets=None),
        replace(key("one"), requests_per_second=None),
        replace(key("one"), burst=8),
        replace(key("one"), created_at=START + timedelta(microseconds=1)),
        replace(key("one"), expires_at=None),
        replace(key("one"), revoked_at=START),
        replace(key("one"), lineage=None),
        replace(key("one"), digest="0" * 64),
        replace(key("one"), burst="8"),  # type: ignore[arg-type]
        replace(key("one"), requests_per_second="x"),  # type: ignore[arg-type]
        replace(key("one"), scopes=frozenset({1, "a"})),  # type: ignore[arg-type]
    ],
)
def test_every_field_is_under_the_tag(keys: TaggedKeys, edited: ApiKey) -> None:
    async def scenario() -> None:
        await keys.create(key("one"))
        await keys.store.replace(edited, expected=key("one"))
        assert await keys.find(edited.digest) is None
        assert await keys.get(edited.id) is None
        assert await keys.list(after=None, limit=10) == []
        assert await keys.faults() == ["key_one was not written by this service as it is"]

    asyncio.run(scenario())


def test_replaced_key_is_invalid(keys: TaggedKeys) -> None:
    async def scenario() -> None:
        await keys.create(key("one"))
        await keys.replace(REVOKED, expected=key("one"))
        await keys.store.replace(key("one"), expected=REVOKED)
        assert await keys.get("key_one") is None

    asyncio.run(scenario())


class Broken(MemoryKeys):
    """It writes, and the answer is lost."""

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        await super().replace(key, expected=expected)
        raise PluginUnavailable


def test_a_change_that_never_ended_leaves_a_key_and_is_tidied_up(store: Store) -> None:
    async def scenario() -> None:
        clock = MovableClock()
        keys = TaggedKeys(Broken(), store.api_key_tags, clock)
        await keys.create(key("one"))
        with pytest.raises(PluginUnavailable):
            await keys.replace(REVOKED, expected=key("one"))
        assert await keys.get("key_one") == REVOKED
        # Another process may be in the middle of a change.
        coming = replace(key("one"), name="coming")
        await store.api_key_tags.announce(coming, clock.now())
        await keys.tidy()
        assert not await store.api_key_tags.holds(key("one"))
        assert await store.api_key_tags.holds(REVOKED)
        assert await store.api_key_tags.holds(coming)
        clock.time += UNFINISHED
        await keys.tidy()
        assert not await store.api_key_tags.holds(coming)
        assert await keys.faults() == []

    asyncio.run(scenario())


def test_a_key_that_is_gone_is_missed(keys: TaggedKeys) -> None:
    async def scenario() -> None:
        await keys.create(key("one"))
        gone = TaggedKeys(MemoryKeys(), keys.tags, keys.clock)
        assert await gone.faults() == ["key_one is missing from the key store"]

    asyncio.run(scenario())


def test_stored_key_needs_an_operators_acceptance(keys: TaggedKeys, store: Store) -> None:
    async def scenario() -> None:
        await keys.create(key("gone"))
        keys.store.by_id.clear()  # type: ignore[attr-defined]
        await keys.store.create(key("foreign"))
        assert await keys.get("key_foreign") is None
        await keys.accept(Record(store.activity))
        assert await keys.get("key_foreign") == key("foreign")
        assert await keys.faults() == []
        assert [row.operation for _, row in await audit_rows(audit_of(store), after=0, limit=10)] == ["acceptApiKeys"]

    asyncio.run(scenario())


def test_another_secret_makes_other_tags(keys: TaggedKeys, store: Store, tmp_path: Path) -> None:
    async def scenario() -> None:
        await keys.create(key("one"))
        other = open_store(tmp_path, secret=b"\x02" * 32)
        assert not await other.api_key_tags.holds(key("one"))
        await other.close()

    asyncio.run(scenario())


def test_watch_reports_each_fault_once(keys: TaggedKeys, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        await keys.create(key("one"))
        watch = KeyStoreWatch(keys)
        await watch.guarded()
        assert not watch.faults
        await keys.store.replace(REVOKED, expected=key("one"))
        for _ in range(2):
            await watch.guarded()
        assert watch.faults == ["key_one was not written by this service as it is"]
        assert [line.levelname for line in caplog.records if "ALARM" in line.message] == ["ERROR"]
        await keys.store.replace(key("one"), expected=REVOKED)
        await watch.guarded()
        assert not watch.faults

    asyncio.run(scenario())


def test_the_watch_knows_when_the_next_usable_key_expires(keys: TaggedKeys) -> None:
    async def scenario() -> None:
        now = keys.clock.now()
        ends = {"past": -1, "later": 9, "next": 5, "revoked": 2}
        for name, days in ends.items():
            await keys.create(replace(key(name), digest=name, expires_at=now + timedelta(days=days)))
        await keys.create(replace(key("endless"), expires_at=None))
        watch = KeyStoreWatch(keys)
        await watch.guarded()
        assert watch.next_expiry == now + timedelta(days=2)
        revoked = await keys.get("key_revoked")
        assert revoked is not None
        await keys.replace(replace(revoked, revoked_at=now), expected=revoked)
        await watch.guarded()
        assert watch.next_expiry == now + timedelta(days=5)

    asyncio.run(scenario())
