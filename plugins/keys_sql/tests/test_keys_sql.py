from __future__ import annotations

import asyncio
import logging
import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_keys_sql import SqlKeys, build, identity_provide_key_store
from identity_keys_sql.record import from_record, read_row, to_record
from identity_kit.conformance.key_store import WritableKeyStoreConformance, key

from identity_core.domain.callers import ApiKey
from identity_core.errors import PluginUnavailable
from identity_core.plugin import BuildContext, NoSettings
from tests.postgres_server import postgres_server, postgres_url  # noqa: F401


class StillClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


def open_store(directory, url: str | None = None) -> SqlKeys:
    return build(NoSettings(), BuildContext(StillClock(), logging.getLogger("keys"), directory, url))


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path)
    yield opened
    asyncio.run(opened.close())


class TestSqlite(WritableKeyStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        opened = open_store(tmp_path)
        yield opened
        asyncio.run(opened.close())


@pytest.mark.nightly
class TestPostgresql(WritableKeyStoreConformance):
    @pytest.fixture
    def store(self, tmp_path, postgres_url):  # noqa: F811
        opened = open_store(tmp_path, postgres_url)
        yield opened
        asyncio.run(opened.close())


def test_keys_survive_a_restart(tmp_path):
    first = open_store(tmp_path)
    asyncio.run(first.create(key("kept")))
    asyncio.run(first.close())
    second = open_store(tmp_path)
    assert asyncio.run(second.get("key_kept")) == key("kept")
    asyncio.run(second.close())


def test_two_processes_see_one_truth(tmp_path):
    one, other = open_store(tmp_path), open_store(tmp_path)
    asyncio.run(one.create(key("shared")))
    assert asyncio.run(other.find(key("shared").digest)) == key("shared")
    asyncio.run(one.close())
    asyncio.run(other.close())


def test_the_text_of_a_key_is_nowhere_in_the_files(tmp_path):
    opened = open_store(tmp_path)
    asyncio.run(opened.create(key("hidden")))
    asyncio.run(opened.close())
    for file in tmp_path.iterdir():
        assert b"the text of hidden" not in file.read_bytes(), file.name


def test_a_broken_database_is_no_refusal(tmp_path):
    opened = open_store(tmp_path)
    with sqlite3.connect(tmp_path / "keys.sqlite") as connection:
        connection.execute("DROP TABLE keys_api_keys")
    with pytest.raises(Exception) as failed:
        asyncio.run(opened.find("0" * 64))
    assert not isinstance(failed.value, KeyError)
    asyncio.run(opened.close())


def test_a_closed_database_is_unavailable(tmp_path):
    opened = open_store(tmp_path)
    asyncio.run(opened.close())
    with pytest.raises(PluginUnavailable):
        asyncio.run(opened.create(key("late")))


TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(9000, 1, 1))
SETS = st.none() | st.frozensets(st.text(max_size=5), max_size=3)


@settings(max_examples=100, deadline=None)
@given(
    st.builds(
        ApiKey,
        id=st.text(),
        name=st.text(),
        digest=st.text(),
        scopes=SETS,
        allowed_targets=SETS,
        requests_per_second=st.none() | st.floats(1e-3, 1e6),
        burst=st.none() | st.integers(1, 10**6),
        created_at=TIMES,
        expires_at=st.none() | TIMES,
        revoked_at=st.none() | TIMES,
        source=st.just("sql"),
        lineage=st.none() | st.text(),
    )
)
def test_a_record_says_the_whole_key(made):
    record = to_record(made)
    assert from_record(record) == made
    assert to_record(from_record(record)) == record


def test_64_writers(store):
    async def scenario():
        await asyncio.gather(*(store.create(key(f"{n:02}")) for n in range(64)))
        return await store.list(after=None, limit=100)

    assert [each.id for each in asyncio.run(scenario())] == [f"key_{n:02}" for n in range(64)]


def test_the_hook_provides_sql():
    assert identity_provide_key_store().name == "sql"


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", "null", '{"id":1}', "[" * 100_000, '{"createdAt":5}'])
def test_unreadable_row_is_revoked_key(record):
    spoilt = read_row("key_a", "0" * 64, record)
    assert (spoilt.id, spoilt.digest, spoilt.scopes, spoilt.allowed_targets) == ("key_a", "0" * 64, set(), set())
    assert not spoilt.usable(datetime(1970, 1, 1, tzinfo=UTC))


def test_a_row_says_itself_by_which_id_and_digest_it_is_found():
    found = read_row("key_b", "1" * 64, to_record(key("a")))
    assert (found.id, found.digest, found.name) == ("key_b", "1" * 64, key("a").name)
