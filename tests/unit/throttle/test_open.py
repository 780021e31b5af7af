from __future__ import annotations

import logging
from pathlib import Path

import pytest
from identity_postgresql.buckets import TokenBucketPostgresqlStorage
from identity_redis.buckets import TokenBucketRedisStorage

from identity_core.settings import Throttle
from identity_core.throttle.fallback import FallbackStorage, open_buckets
from identity_core.throttle.memory import TokenBucketMemoryStorage
from identity_core.throttle.sqlite import TokenBucketSqliteStorage
from tests.unit.throttle.promises import Ticking, run

REDIS = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("settings", "processes", "kind"),
    [
        (Throttle(), 1, TokenBucketMemoryStorage),
        (Throttle(), 2, TokenBucketSqliteStorage),
        (Throttle(redis_url=REDIS), 1, TokenBucketRedisStorage),
        (Throttle(store="memory", redis_url=REDIS), 4, TokenBucketMemoryStorage),
        (Throttle(store="sql"), 1, TokenBucketSqliteStorage),
        (Throttle(store="redis", redis_url=REDIS), 1, TokenBucketRedisStorage),
    ],
)
def test_the_setting_chooses_the_store(tmp_path: Path, settings, processes, kind):
    async def scenario():
        opened = open_buckets(
            settings, tmp_path, None, processes, monotonic=Ticking(), logger=logging.getLogger("buckets")
        )
        chosen = opened._shared if isinstance(opened, FallbackStorage) else opened
        assert isinstance(chosen, kind)
        if kind is not TokenBucketRedisStorage:
            assert (await opened.acquire_token_bucket("a", 1.0, 1)).allowed
        await opened.close()

    run(scenario())
    assert (tmp_path / "limits.sqlite").exists() == (kind is TokenBucketSqliteStorage)


def test_replicas_that_share_a_server_share_its_buckets(tmp_path: Path) -> None:
    """One process each: with buckets in memory two of them admitted twice what the limit allows."""

    async def scenario() -> None:
        url = "postgresql://127.0.0.1:1/none"
        opened = open_buckets(Throttle(), tmp_path, url, 1, monotonic=Ticking(), logger=logging.getLogger("buckets"))
        assert isinstance(opened, FallbackStorage)
        assert isinstance(opened._shared, TokenBucketPostgresqlStorage)
        await opened.close()

    run(scenario())


@pytest.mark.parametrize(
    ("settings", "url", "deadline"),
    [
        (Throttle(redis_url=REDIS), None, 0.05),
        (Throttle(store="sql"), "postgresql://127.0.0.1:1/none", 0.05),
        (Throttle(store="sql"), None, None),  # it answers at once and limits its own waiting
    ],
)
def test_who_waits_for_a_server_waits_50_milliseconds(tmp_path: Path, settings, url, deadline):
    async def scenario():
        opened = open_buckets(settings, tmp_path, url, 2, monotonic=Ticking(), logger=logging.getLogger("buckets"))
        assert opened._deadline_seconds == deadline
        assert (await opened.acquire_token_bucket("a", 1.0, 4)).remaining == (3 if deadline is None else 1)
        await opened.close()

    run(scenario())
