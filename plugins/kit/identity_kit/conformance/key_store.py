"""The promises of a store of API keys, as tests (``ports/key_store.py``).

An author subclasses ``KeyStoreConformance`` with two fixtures::

    class TestMyKeys(KeyStoreConformance):
        @pytest.fixture
        def store(self): return MyKeys(...)

        @pytest.fixture
        def known_key(self): return "the text of a key that the store has"

and, for a store that the admin operations may write, ``WritableKeyStoreConformance`` with ``store`` alone. A fixture may close what
it made. Every scenario runs in an event loop of its own, one after the other. The known key should be a long text, because one test
searches for it in the output of the store.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, digest_of
from identity_core.errors import ApiKeyNotFound, VersionConflict
from identity_core.ports.key_store import KeyStore, WritableKeyStore
from identity_kit.conformance.loops import expect_error, own_loop_per_test

NASTY = ("", "a", "\0", "0" * 63, "0" * 65, "g" * 64, "é" * 64, "' OR 1=1 --", "%", "0" * 5_000)
CREATED = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@own_loop_per_test
class KeyStoreConformance:
    """The promises of every store."""

    def test_it_is_a_key_store(self, store: KeyStore) -> None:
        """The object has the methods of the port."""
        assert isinstance(store, KeyStore)

    def test_it_finds_a_key_by_its_digest(self, store: KeyStore, known_key: str) -> None:
        """``find`` returns the key, whose digest is the one that was asked for."""
        found = asyncio.run(store.find(digest_of(known_key)))
        assert found is not None, "the known key was not found"
        assert found.digest == digest_of(known_key), "the key that was found has another digest"
        assert found.id, "the key has no id"
        assert found.source, "the key does not say which store it is from"

    def test_it_finds_the_same_key_again(self, store: KeyStore, known_key: str) -> None:
        """Two look-ups give equal keys: the id is a name for buckets and for what the key created."""
        digest = digest_of(known_key)
        assert asyncio.run(store.find(digest)) == asyncio.run(store.find(digest)), "two look-ups gave different keys"

    def test_it_finds_nothing_else(self, store: KeyStore, known_key: str) -> None:
        """A digest that differs in one digit, or in case, is another key."""
        digest = digest_of(known_key)
        flipped = ("0" if digest[0] != "0" else "1") + digest[1:]
        others = (flipped, digest.upper(), digest[:-1], digest + "0", digest_of(digest), digest_of(known_key + " "))
        for other in others:
            if other != digest:
                assert asyncio.run(store.find(other)) is None, "an unknown digest found a key"

    def test_the_text_is_no_digest(self, store: KeyStore, known_key: str) -> None:
        """Only digests cross the port: asked for the text itself, the store knows nothing."""
        assert asyncio.run(store.find(known_key)) is None, "the store found a key by its text"

    def test_it_keeps_no_text(self, store: KeyStore, known_key: str) -> None:
        """Neither the key nor the store shows the text."""
        found = asyncio.run(store.find(digest_of(known_key)))
        assert known_key not in repr(found), "the key shows its text"
        assert known_key not in repr(store), "the store shows a key's text"

    def test_times_are_aware(self, store: KeyStore, known_key: str) -> None:
        """Every time has a zone, so that expiry can be decided."""
        found = asyncio.run(store.find(digest_of(known_key)))
        assert found is not None
        for time in (found.created_at, found.expires_at, found.revoked_at):
            assert time is None or time.tzinfo is not None, "a time has no zone"

    @pytest.mark.parametrize("digest", NASTY)
    def test_nonsense_is_not_found(self, store: KeyStore, digest: str) -> None:
        """Check that what is not a digest is not found, and does no harm."""
        assert asyncio.run(store.find(digest)) is None, "nonsense found a key"

    async def test_many_at_once(self, store: KeyStore, known_key: str) -> None:
        """64 look-ups at once all get their own answer."""
        digests = [digest_of(known_key if n % 2 else f"unknown {n}") for n in range(64)]
        for n, found in enumerate(await asyncio.gather(*(store.find(digest) for digest in digests))):
            assert (found is not None) == bool(n % 2), "look-ups at the same time got each other's answers"


def key(name: str, **changes: Any) -> ApiKey:
    """Return a key with a value in every field."""
    made = ApiKey(
        id=f"key_{name}",
        name=f"{name} – ключ",
        digest=digest_of(f"the text of {name}"),
        scopes=frozenset({"dids:create", "dids:list"}),
        allowed_targets=frozenset({"did:example:a", "did:example:b"}),
        requests_per_second=0.5,
        burst=7,
        created_at=CREATED,
        expires_at=CREATED + timedelta(days=30),
        revoked_at=None,
        lineage="key_first",
    )
    return replace(made, **changes)


@own_loop_per_test
class WritableKeyStoreConformance(KeyStoreConformance):
    """The promises of a store that the admin operations may write. ``store`` begins empty."""

    @pytest.fixture
    def known_key(self, store: WritableKeyStore) -> str:
        """Return a key that is written through the port."""
        asyncio.run(store.create(key("known")))
        return "the text of known"

    def test_it_is_writable(self, store: WritableKeyStore) -> None:
        """The object has the methods of the port."""
        assert isinstance(store, WritableKeyStore)

    async def test_written_key_is_read(self, store: WritableKeyStore) -> None:
        """Every field comes back as it was, from ``get``, ``find`` and ``list``; nulls and empty sets too."""
        full = key("full")
        bare = key("bare", scopes=None, allowed_targets=None, requests_per_second=None, burst=None, expires_at=None)
        bare = replace(bare, lineage=None)
        empty = key("empty", scopes=frozenset(), allowed_targets=frozenset())

        for made in (full, bare, empty):
            await store.create(made)
            assert _plain(await store.get(made.id)) == made, "get gave another key than was written"
            assert _plain(await store.find(made.digest)) == made, "find gave another key than was written"
        assert await _all(store) == [bare, empty, full], "list gave something else"

    async def test_an_id_and_a_digest_belong_to_one_key(self, store: WritableKeyStore) -> None:
        """A second key with the id or the digest of another is refused and changes nothing."""
        first = key("first")
        await store.create(first)
        await expect_error(VersionConflict, store.create(key("second", id=first.id)))
        await expect_error(VersionConflict, store.create(key("second", digest=first.digest)))
        assert await _all(store) == [first], "a refused key was written"

    async def test_unknown_ids(self, store: WritableKeyStore) -> None:
        """An id that no key has: ``get`` gives None, ``replace`` raises ``ApiKeyNotFound``."""
        for key_id in ("", "absent", "\0", "' OR 1=1 --", "x" * 5_000):
            assert await store.get(key_id) is None, "an unknown id gave a key"
        await expect_error(ApiKeyNotFound, store.replace(key("absent"), expected=key("absent")))

    async def test_replace_writes_every_field(self, store: WritableKeyStore) -> None:
        """After ``replace`` the new key is there and nothing of the old one."""
        old = key("one")
        new = key("two", id=old.id, scopes=None, allowed_targets=None, burst=9, revoked_at=CREATED)

        await store.create(old)
        await store.replace(new, expected=old)
        assert _plain(await store.get(old.id)) == new, "replace did not write every field"
        assert await store.find(old.digest) is None, "the old digest still finds the key"
        assert _plain(await store.find(new.digest)) == new, "the new digest does not find the key"

    async def test_replace_refuses_what_it_did_not_expect(self, store: WritableKeyStore) -> None:
        """A change on the ground of an outdated key is refused: an update never undoes a revocation."""
        old = key("one")
        revoked = replace(old, revoked_at=CREATED + timedelta(seconds=1))

        await store.create(old)
        await store.replace(revoked, expected=old)
        await expect_error(VersionConflict, store.replace(replace(old, name="renamed"), expected=old))
        assert _plain(await store.get(old.id)) == revoked, "an update undid a revocation"

    async def test_one_of_many_concurrent_replacements_wins(self, store: WritableKeyStore) -> None:
        """32 changes of one key at the same time, each from the same state: one is written."""
        old = key("one")

        async def change(n: int) -> str | None:
            try:
                await store.replace(replace(old, name=f"name {n}"), expected=old)
            except VersionConflict:
                return None
            return f"name {n}"

        await store.create(old)
        winners = [name for name in await asyncio.gather(*(change(n) for n in range(32))) if name is not None]
        assert len(winners) == 1, f"{len(winners)} changes from one state were accepted"
        stored = await store.get(old.id)
        assert stored is not None
        assert stored.name == winners[0], "the change that was accepted is not the one that is stored"

    async def test_pages(self, store: WritableKeyStore) -> None:
        """``list`` goes through all keys in ascending order of id (by code point), page by page."""
        names = ["B", "_", "a", "b", "-", "0", "aa"]

        for name in names:
            await store.create(key(name))
        seen: list[str] = []
        while page := await store.list(after=seen[-1] if seen else None, limit=3):
            assert len(page) <= 3, "a page is longer than its limit"
            seen += [each.id for each in page]
        assert seen == sorted(f"key_{name}" for name in names), "the pages are not all keys in order"


async def _all(store: WritableKeyStore) -> list[ApiKey | None]:
    return [_plain(each) for each in await store.list(after=None, limit=10)]


def _plain(found: ApiKey | None) -> ApiKey | None:
    """Return the key without ``source``, in which a store names itself."""
    return None if found is None else replace(found, source="sql")
