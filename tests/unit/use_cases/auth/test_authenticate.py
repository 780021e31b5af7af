from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from identity_kit.conformance.key_store import key

from identity_codec.values import replace
from identity_core.errors import AuthFailed, PluginUnavailable
from identity_core.use_cases.auth import authenticate
from identity_core.use_cases.auth.authenticate import ApiKeyCache, AuthenticateApiKey
from tests.unit.use_cases.auth.memory_keys import MemoryKeys, MovingClock

TEXT = "the text of ci"


class Broken(MemoryKeys):
    async def find(self, digest):
        self.asked += 1
        raise PluginUnavailable


class World:
    def __init__(self, *stores: MemoryKeys) -> None:
        self.clock = MovingClock()
        self.stores = stores
        self.known = ApiKeyCache(self.clock)
        self.authenticate = AuthenticateApiKey(stores, self.known, self.clock, lambda digest: digest[::-1][:12])

    def __call__(self, text: str):
        return asyncio.run(self.authenticate(text))

    def refuses(self, text: str) -> bool:
        try:
            self(text)
        except AuthFailed as refusal:
            # All refusals look alike.
            return (str(refusal), refusal.details) == (AuthFailed.message, {})
        return False


def store(*keys) -> MemoryKeys:
    made = MemoryKeys()
    made.by_id = {each.id: each for each in keys}
    return made


CI = key("ci", expires_at=None)


def test_a_key_is_found_by_its_text():
    found = World(store(CI))(TEXT)
    assert found == CI
    assert found.fingerprint == CI.digest[::-1][:12]


@pytest.mark.parametrize(
    "text", ["", "the text of c", "the text of ci ", CI.digest, "x" * 513, "x" * 100_000, "\ud800"]
)
def test_everything_else_is_refused(text):
    assert World(store(CI)).refuses(text)


def test_a_text_too_long_asks_no_store():
    world = World(store(CI))
    assert world.refuses("x" * 513)
    assert world.stores[0].asked == 0


def test_the_first_store_that_knows_the_key_decides():
    first, second = store(), store(CI)
    assert World(first, second)(TEXT) == CI
    scoped = replace(CI, scopes=frozenset())
    assert World(store(scoped), store(CI))(TEXT) == scoped


def test_a_revoked_key_does_not_come_back_from_a_later_store():
    world = World(store(replace(CI, revoked_at=CI.created_at)), store(CI))
    assert world.refuses(TEXT)
    assert world.stores[1].asked == 0


def test_expiry_and_revocation_are_decided_at_every_call():
    now = MovingClock().now()
    for changes in ({"expires_at": now + timedelta(seconds=1)}, {"revoked_at": now + timedelta(seconds=1)}):
        world = World(store(replace(CI, **changes)))
        assert world(TEXT)
        world.clock.sleep(1)
        assert world.refuses(TEXT)
        assert world.stores[0].asked == 1


def test_answers_are_remembered_for_two_seconds():
    world = World(store(CI))
    for _ in range(5):
        world(TEXT)
        world.refuses("unknown")
    assert world.stores[0].asked == 2
    world.clock.sleep(1.99)
    world(TEXT)
    assert world.stores[0].asked == 2
    world.clock.sleep(0.02)
    world(TEXT)
    world.refuses("unknown")
    assert world.stores[0].asked == 4


def test_foreign_change_is_seen_after_two_seconds():
    world = World(store(CI))
    world(TEXT)
    world.stores[0].by_id[CI.id] = replace(CI, revoked_at=CI.created_at)
    assert not world.refuses(TEXT)
    world.clock.sleep(2)
    assert world.refuses(TEXT)
    world.stores[0].by_id[CI.id] = CI
    world.known.forget(CI.digest)
    assert not world.refuses(TEXT)


def test_an_answer_that_a_write_has_overtaken_is_not_remembered():
    """The store was asked before the revocation and answers after it."""
    world = World(store(CI))

    class Slow(MemoryKeys):
        async def find(self, digest):
            found = await super().find(digest)
            self.by_id[CI.id] = replace(CI, revoked_at=CI.created_at)
            world.known.forget(CI.digest)
            return found

    slow = Slow()
    slow.by_id = {CI.id: CI}
    overtaken = AuthenticateApiKey([slow], world.known, world.clock, str)
    assert asyncio.run(overtaken(TEXT)) == CI
    with pytest.raises(AuthFailed):
        asyncio.run(overtaken(TEXT))


def test_failing_store_is_not_refusal():
    broken, good = Broken(), store(CI)
    world = World(broken, good)
    for _ in range(2):
        with pytest.raises(PluginUnavailable):
            world(TEXT)
    assert (broken.asked, good.asked) == (2, 0)


def test_a_flood_of_guesses_pushes_out_no_key_in_use(monkeypatch):
    monkeypatch.setattr(authenticate, "CAPACITY", 10)
    world = World(store(CI))
    world(TEXT)
    for number in range(100):
        assert world.refuses(f"guess {number}")
    asked = world.stores[0].asked
    world(TEXT)
    assert world.stores[0].asked == asked
    assert len(world.known._missing.values()) <= 10


def test_valid_credential_is_cached():
    world = World(store(CI))
    assert not world.authenticate.has_been_good(TEXT)
    world(TEXT)
    assert world.authenticate.has_been_good(TEXT)
    assert not world.authenticate.has_been_good("x" * 600)
    assert world.refuses("guess")
    assert not world.authenticate.has_been_good("guess")
    world.clock.sleep(3600)
    assert world.authenticate.has_been_good(TEXT), "a key in use must not depend on its address again and again"
    assert world.stores[0].asked == 2


def test_credential_removed_from_stores_is_invalid():
    world = World(store(CI))
    world(TEXT)
    world.stores[0].by_id.clear()
    world.clock.sleep(3)
    assert world.refuses(TEXT)
    assert not world.authenticate.has_been_good(TEXT)


def test_the_texts_are_not_kept():
    world = World(store(CI))
    world(TEXT)
    world.refuses("another secret")
    shown = repr((vars(world.known), world.authenticate))
    assert TEXT not in shown
    assert "another secret" not in shown
