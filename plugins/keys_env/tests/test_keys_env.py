from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import pytest
from identity_keys_env import EnvironmentKeys, EnvironmentKeysSettings, identity_provide_key_store
from identity_kit.conformance.key_store import KeyStoreConformance

from identity_core.domain.callers import digest_of, mint

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LONG = mint(bytes(range(32)))


def store(api_key: str | None = None, *api_keys: str) -> EnvironmentKeys:
    return EnvironmentKeys(EnvironmentKeysSettings(api_key, api_keys), created_at=NOW, logger=logging.getLogger("keys"))


def find(keys: EnvironmentKeys, text: str):
    return asyncio.run(keys.find(digest_of(text)))


class TestConformance(KeyStoreConformance):
    @pytest.fixture
    def store(self):
        return store("chosen by me", f"ci:{LONG}")

    @pytest.fixture(params=["chosen by me", LONG])
    def known_key(self, request):
        return request.param


def test_nothing_set_is_no_key():
    for nothing in (store(), store(""), store(None)):
        assert find(nothing, "") is None


def test_api_key_is_admin_and_has_the_default_limits():
    found = find(store("s3cret"), "s3cret")
    assert (found.id, found.scopes, found.allowed_targets) == ("env.API_KEY", None, None)
    assert (found.requests_per_second, found.burst, found.source) == (None, None, "env")
    assert found.usable(NOW)


def test_a_short_key_warns_once_and_a_long_one_does_not(caplog):
    short = store("x")
    find(short, "x")
    find(short, "x")
    assert len(caplog.records) == 1
    assert "guessed" in caplog.text
    caplog.clear()
    store(LONG)
    assert not caplog.records


def test_the_blanks_around_a_key_do_not_count():
    assert find(store(" s3cret\n"), "s3cret") is not None


@pytest.mark.parametrize("key", ["   ", "\t\n", "schlüssel", "a\x00b", "a\nb", "x" * 513])
def test_key_unfit_for_header_stops_startup_unshown(key):
    with pytest.raises(ValueError) as refused:
        store(key)
    assert key not in str(refused.value)
    assert "API_KEY" in str(refused.value)


def test_an_entry_by_its_digest_and_with_limits():
    keys = store(None, f"backup:sha256-{digest_of('a'):s}:0.5:3", f"ci:{LONG}:50", " b.c-d_1 : nope".replace(" ", ""))
    backup = find(keys, "a")
    assert (backup.id, backup.requests_per_second, backup.burst) == ("env.backup", 0.5, 3)
    ci = find(keys, LONG)
    assert (ci.requests_per_second, ci.burst) == (50.0, None)
    assert find(keys, "nope").id == "env.b.c-d_1"
    assert find(keys, f"sha256-{digest_of('a')}") is None


@pytest.mark.parametrize(
    "entry",
    [
        *("", "name", "name:", ":key", "na me:key", "n" * 65 + ":key", "name:key:1:2:3", "name:key:fast"),
        *("name:key:0", "name:key:-1", "name:key:nan", "name:key:inf", "name:key:1e7", "name:key:1:0"),
        *("name:key:1:1.5", "name:key:1:many"),
    ],
)
def test_a_malformed_entry_stops_the_start_without_being_shown(entry):
    with pytest.raises(ValueError) as refused:
        store(None, entry)
    assert "key:" not in str(refused.value).replace("name:key[", "")


def test_two_keys_with_one_name_or_one_text_stop_the_start():
    for entries in (("a:k1", "a:k2"), ("a:k1", "b:k1")):
        with pytest.raises(ValueError, match="same name or the same text"):
            store(None, *entries)
    with pytest.raises(ValueError, match="same"):
        store("k1", "a:k1")


def test_the_settings_do_not_show_their_values():
    settings = EnvironmentKeysSettings("s3cret", ("a:s3cret2",))
    assert "s3cret" not in repr(settings)


def test_the_hook_provides_env():
    provider = identity_provide_key_store()
    assert (provider.name, provider.settings) == ("env", EnvironmentKeysSettings)
