"""The key-store kit must fail stores that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.key_store import NASTY, WritableKeyStoreConformance, key

from identity_codec.values import replace
from identity_core.domain.callers import digest_of
from identity_core.errors import VersionConflict
from tests.unit.use_cases.auth.memory_keys import MemoryKeys

KNOWN = "the text of known"


class ComparesAPrefix(MemoryKeys):
    """Trusts the fingerprint."""

    async def find(self, digest):
        return next((each for each in self.by_id.values() if digest and each.digest[:12] == digest[:12]), None)


class TakesTheTextToo(MemoryKeys):
    """Hashes what it is given when that finds nothing."""

    async def find(self, digest):
        return await super().find(digest) or await super().find(digest_of(digest))


class RemembersTheText(MemoryKeys):
    def __repr__(self) -> str:
        return f"RemembersTheText({KNOWN!r})"


class MakesANewKeyEachTime(MemoryKeys):
    async def find(self, digest):
        found = await super().find(digest)
        self.asked += 1
        return found and replace(found, id=f"key_{self.asked}")


class ForgetsTheZone(MemoryKeys):
    async def find(self, digest):
        found = await super().find(digest)
        return found and replace(found, created_at=found.created_at.replace(tzinfo=None))


class ChokesOnNonsense(MemoryKeys):
    async def find(self, digest):
        bytes.fromhex(digest)
        return await super().find(digest)


class MixesUpAnswers(MemoryKeys):
    """One field for what is being looked for, no matter who looks."""

    async def find(self, digest):
        import asyncio

        self.wanted = digest
        await asyncio.sleep(0)
        return await super().find(self.wanted)


class LosesAField(MemoryKeys):
    async def create(self, key):
        await super().create(replace(key, lineage=None))


class EmptyMeansNone(MemoryKeys):
    """No scopes become all scopes."""

    async def create(self, key):
        await super().create(replace(key, scopes=key.scopes or None))


class OverwritesOnCreate(MemoryKeys):
    async def create(self, key):
        self.by_id[key.id] = key


class LastWriteWins(MemoryKeys):
    """An update undoes a revocation that it did not see."""

    async def replace(self, key, *, expected):
        await super().replace(key, expected=self.by_id.get(key.id, key))


class ChecksAndThenWrites(MemoryKeys):
    async def replace(self, key, *, expected):
        import asyncio

        if self.by_id.get(key.id) not in (expected, None):
            raise VersionConflict
        await asyncio.sleep(0)
        await super().replace(key, expected=self.by_id.get(key.id, key))


class CreatesOnReplace(MemoryKeys):
    async def replace(self, key, *, expected):
        self.by_id.setdefault(key.id, expected)
        await super().replace(key, expected=expected)


class SortsByName(MemoryKeys):
    async def list(self, *, after, limit):
        ordered = sorted(self.by_id.values(), key=lambda each: each.id.lower())
        return [each for each in ordered if each.id > (after or "")][:limit]


class PagesAreOneTooLong(MemoryKeys):
    async def list(self, *, after, limit):
        return await super().list(after=after, limit=limit + 1)


class HasNoReplace:
    find = MemoryKeys.find
    get = MemoryKeys.get
    list = MemoryKeys.list
    create = MemoryKeys.create

    def __init__(self) -> None:
        MemoryKeys.__init__(self)


BROKEN: list[tuple[type[Any], str]] = [
    (ComparesAPrefix, "test_it_finds_nothing_else"),
    (TakesTheTextToo, "test_the_text_is_no_digest"),
    (RemembersTheText, "test_it_keeps_no_text"),
    (MakesANewKeyEachTime, "test_it_finds_the_same_key_again"),
    (ForgetsTheZone, "test_times_are_aware"),
    (ChokesOnNonsense, "test_nonsense_is_not_found"),
    (MixesUpAnswers, "test_many_at_once"),
    (LosesAField, "test_written_key_is_read"),
    (EmptyMeansNone, "test_written_key_is_read"),
    (OverwritesOnCreate, "test_an_id_and_a_digest_belong_to_one_key"),
    (LastWriteWins, "test_replace_refuses_what_it_did_not_expect"),
    (ChecksAndThenWrites, "test_one_of_many_concurrent_replacements_wins"),
    (CreatesOnReplace, "test_unknown_ids"),
    (SortsByName, "test_pages"),
    (PagesAreOneTooLong, "test_pages"),
    (HasNoReplace, "test_it_is_writable"),
]

PROMISES = [
    name
    for name, member in inspect.getmembers(WritableKeyStoreConformance, inspect.isfunction)
    if name.startswith("test_")
]


def failures(make: Callable[[], Any]) -> dict[str, str]:
    """The promises that the store breaks, with what the kit says about each."""
    broken: dict[str, str] = {}
    kit = WritableKeyStoreConformance()
    for name in PROMISES:
        test = getattr(kit, name)
        for digest in NASTY if "digest" in inspect.signature(test).parameters else ("",):
            store = make()
            arguments: dict[str, Any] = {"store": store, "digest": digest, "known_key": KNOWN}
            if "known_key" in inspect.signature(test).parameters:
                store.by_id["key_known"] = key("known")
            wanted = {name: arguments[name] for name in inspect.signature(test).parameters}
            try:
                test(**wanted)
            except (AssertionError, Failed, Exception) as failure:
                broken[name] = str(failure)
    return broken


def test_a_sound_store_keeps_every_promise():
    assert failures(MemoryKeys) == {}
    assert len(PROMISES) >= 17


@pytest.mark.parametrize(("store", "promise"), BROKEN, ids=[broken.__name__ for broken, _ in BROKEN])
def test_a_broken_store_fails_where_its_fault_lies(store, promise):
    assert promise in failures(store)
