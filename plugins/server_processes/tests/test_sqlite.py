from __future__ import annotations

import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_server_processes.sqlite import TokenBucketSqliteStorage
from limits.storage import storage_from_string

from tests.unit.throttle.promises import BucketPromises, Ticking, run


class TestPromises(BucketPromises):
    @pytest.fixture
    def make(self, tmp_path):
        return lambda: TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=Ticking())


def acquire(storage, *arguments):
    """An SQLite storage never suspends, so its coroutine is through after one step."""
    try:
        storage.acquire_token_bucket(*arguments).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it suspended")


def test_limits_finds_it_by_its_scheme(tmp_path):
    storage = storage_from_string(f"async+tokenbucket+sql://{tmp_path}/a%20b.sqlite")
    assert isinstance(storage, TokenBucketSqliteStorage)
    run(storage.close())
    assert (tmp_path / "a b.sqlite").exists()


def test_two_connections_share_a_bucket(tmp_path):
    clock = Ticking()
    one, two = (TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock) for _ in range(2))
    assert sum(acquire(each, "a", 0.001, 5).allowed for _ in range(5) for each in (one, two)) == 5
    run(one.close())
    run(two.close())


def test_empty_bucket_is_refused_without_file(tmp_path):
    clock = Ticking()
    one, two = (TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock) for _ in range(2))
    assert [one.spend_at_once("a", 1.0, 4, cost).allowed for cost in (4, 1)] == [True, False]
    holder = sqlite3.connect(tmp_path / "limits.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    seen = one.spend_at_once("a", 1.0, 4)
    assert (seen.allowed, seen.remaining, seen.retry_after_seconds, seen.reset_after_seconds) == (False, 0, 1.0, 4.0)
    clock.now += 1.5
    assert (again := one.spend_at_once("a", 1.0, 4, 2)).allowed is False
    assert (again.remaining, again.retry_after_seconds) == (1, 0.5)
    with pytest.raises(sqlite3.OperationalError):
        one.spend_at_once("a", 1.0, 4)
    holder.execute("ROLLBACK")
    # What another process has spent meanwhile counts.
    assert two.spend_at_once("a", 1.0, 4).allowed
    assert not one.spend_at_once("a", 1.0, 4).allowed
    run(one.clear("a"))
    assert one.spend_at_once("a", 1.0, 4).allowed
    for storage in (one, two):
        run(storage.close())


@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0.01, 10_000),
    burst=st.integers(1, 100),
    steps=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 20)), max_size=15),
)
def test_never_more_than_burst_and_rate(tmp_path_factory, rate, burst, steps):
    clock = Ticking()
    path = tmp_path_factory.mktemp("limits") / "limits.sqlite"
    storage = TokenBucketSqliteStorage.open(path, monotonic=clock)
    start, allowed = clock.now, 0
    for pause, hits in steps:
        clock.now += pause
        allowed += sum(acquire(storage, "a", rate, burst).allowed for _ in range(hits))
        assert allowed <= burst + rate * (clock.now - start) + 1
    run(storage.close())


def test_a_restart_of_the_machine_empties_buckets_and_no_more(tmp_path):
    clock = Ticking(1_000_000.0)
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock)
    assert acquire(storage, "a", 10.0, 5).allowed
    clock.now = 1.0
    refused = acquire(storage, "a", 10.0, 5)
    assert not refused.allowed
    assert refused.retry_after_seconds == pytest.approx(0.1)
    clock.now = 1.1
    assert acquire(storage, "a", 10.0, 5).allowed
    run(storage.close())


def test_a_bucket_that_is_full_again_owes_nothing(tmp_path):
    clock = Ticking()
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock)
    acquire(storage, "a", 10.0, 5)
    for pause in (0.1, 1.0):
        clock.now += pause
        assert acquire(storage, "a", 10.0, 5, 0) == (True, 5, 0.0, 0.0)
    run(storage.close())


@pytest.mark.parametrize(
    ("step", "answer"),
    [(0.001, (True, 5, 0.0, 0.0)), (-10.0, (True, 0, 0.0, 5e-6))],
)
def test_clock_jump_between_debit_and_answer(tmp_path, step, answer):
    clock = Ticking()

    def stepping() -> float:
        clock.now += step
        return clock.now

    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=stepping)
    assert acquire(storage, "a", 1e6, 5) == answer
    run(storage.close())


def test_after_closing_the_file_is_out_of_reach(tmp_path):
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=Ticking())
    assert acquire(storage, "a", 1.0, 1).allowed
    run(storage.close())
    assert not (tmp_path / "limits.sqlite-wal").exists()
    with pytest.raises(storage.base_exceptions):
        acquire(storage, "a", 1.0, 1)


def test_the_file_forgets_buckets_that_are_full_again(tmp_path):
    clock = Ticking()
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock)
    for number in range(2_000):
        acquire(storage, f"old {number:04}", 10.0, 1)
    clock.now += 1
    for _ in range(2_000):
        acquire(storage, "new", 1e6, 1)
        clock.now += 1
    with sqlite3.connect(tmp_path / "limits.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM bucket").fetchone()[0] < 10
    run(storage.close())


def test_every_32_decisions_64_keys_are_looked_at(tmp_path):
    clock = Ticking()
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=clock)
    counted = sqlite3.connect(tmp_path / "limits.sqlite")

    def rows() -> int:
        return counted.execute("SELECT count(*) FROM bucket").fetchone()[0]

    for number in range(96):
        acquire(storage, f"old {number:02}", 0.1, 1)
    clock.now += 10
    left = []
    for _ in range(96):
        acquire(storage, "zz", 1e6, 1)
        clock.now += 1
        left.append(rows())
    assert left[:31] == [97] * 31
    assert left[31:63] == [33] * 32
    assert left[63:] == [1] * 33
    counted.close()
    run(storage.close())


def test_it_waits_40_milliseconds_for_a_lock(tmp_path):
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=Ticking())
    assert storage._connection.execute("PRAGMA busy_timeout").fetchone() == (40,)
    run(storage.close())


def test_a_file_that_somebody_holds_is_an_error_after_a_moment(tmp_path):
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=Ticking())
    holder = sqlite3.connect(tmp_path / "limits.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(storage.base_exceptions):
        acquire(storage, "a", 1.0, 1)
    holder.execute("ROLLBACK")
    assert acquire(storage, "a", 1.0, 1).allowed
    holder.close()
    run(storage.close())


def test_the_machines_monotonic_clock_does(tmp_path):
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=time.monotonic)
    assert [acquire(storage, "a", 0.001, 2).allowed for _ in range(3)] == [True, True, False]
    run(storage.close())


def test_nobody_else_may_read_the_file(tmp_path):
    storage = TokenBucketSqliteStorage.open(tmp_path / "limits.sqlite", monotonic=Ticking())
    acquire(storage, "address:192.0.2.1", 1.0, 1)
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())
    run(storage.close())
