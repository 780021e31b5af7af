"""The choice of the store of buckets."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from identity_postgresql.buckets import TokenBucketPostgresqlStorage
from identity_redis.buckets import TokenBucketRedisStorage
from identity_server_processes.fallback import FallbackStorage
from identity_server_processes.sqlite import TokenBucketSqliteStorage
from identity_server_processes.stores import open_buckets

from identity_core.bootstrap import open_installation
from identity_core.settings import Settings, SettingsError, load
from identity_core.throttle.memory import TokenBucketMemoryStorage
from tests.architecture.call_paths import LONG_DEADLINES
from tests.unit.throttle.promises import Ticking, run

REDIS = {"throttle.redis_url": "redis://127.0.0.1:1/0"}
SQL, MEMORY = {"throttle.store": "sql"}, {"throttle.store": "memory"}
POSTGRESQL = {"database_url": "postgresql://127.0.0.1:1/none"}


def chosen(folder: Path, processes: int = 1, **overrides: Any) -> Settings:
    return load(environment={}, overrides={"data_dir": folder, "server.workers": processes} | overrides)


@pytest.mark.parametrize(
    ("overrides", "processes", "kind"),
    [
        ({}, 1, TokenBucketMemoryStorage),
        ({}, 2, TokenBucketSqliteStorage),
        (REDIS, 1, TokenBucketRedisStorage),
        (MEMORY | REDIS, 4, TokenBucketMemoryStorage),
        (SQL, 1, TokenBucketSqliteStorage),
        ({"throttle.store": "redis"} | REDIS, 1, TokenBucketRedisStorage),
        # One process each: with buckets in memory two replicas admitted twice what the limit allows.
        (POSTGRESQL, 1, TokenBucketPostgresqlStorage),
    ],
)
def test_setting_chooses_the_store(tmp_path: Path, overrides: dict[str, Any], processes: int, kind: type[Any]) -> None:
    async def scenario() -> None:
        opened = await open_buckets(chosen(tmp_path, processes, **overrides), Ticking())
        found = opened._shared if isinstance(opened, FallbackStorage) else opened
        assert isinstance(found, kind)
        # A server that is absent leaves local buckets.
        assert opened.degraded is ({TokenBucketMemoryStorage: None, TokenBucketSqliteStorage: False}.get(kind, True))
        assert (await opened.acquire_token_bucket("a", 1.0, 1)).allowed
        await opened.close()

    run(scenario())
    assert (tmp_path / "limits.sqlite").exists() == (kind is TokenBucketSqliteStorage)


@pytest.mark.parametrize(
    ("overrides", "deadline"),
    [
        (REDIS, 0.05),
        (SQL | POSTGRESQL, 0.05),
        (SQL, None),  # it answers at once and limits its own waiting
    ],
)
def test_decision_of_a_server_has_50_milliseconds(
    tmp_path: Path, overrides: dict[str, Any], deadline: float | None
) -> None:
    async def scenario() -> None:
        opened = await open_buckets(chosen(tmp_path, 2, **overrides), Ticking())
        assert isinstance(opened, FallbackStorage)
        assert opened._deadline_seconds == deadline
        assert (await opened.acquire_token_bucket("a", 1.0, 4)).remaining == (3 if deadline is None else 1)
        await opened.close()

    run(scenario())


OFF = {"plugins.disabled": ("server_processes",)}


async def start(folder: Path, overrides: dict[str, Any]) -> None:
    settings = load(environment=LONG_DEADLINES, overrides={"data_dir": folder / "data"} | OFF | overrides)
    async with open_installation(settings):
        pass


@pytest.mark.parametrize(
    ("overrides", "key"), [(REDIS, "throttle.redis_url"), (SQL | {"server.workers": 2}, "throttle.store")]
)
def test_required_store_is_refused_without_the_extension(tmp_path: Path, overrides: dict[str, Any], key: str) -> None:
    with pytest.raises(SettingsError, match="no extension that is open shares them") as refused:
        run(start(tmp_path, overrides))
    assert key in refused.value.where
    assert "plugins/README.md" in refused.value.fix


def test_several_processes_without_the_extension_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(start(tmp_path, {"server.workers": 2}))
    assert any(one.startswith("each process has rate limits of its own") for one in caplog.messages)
    assert not (tmp_path / "data" / "limits.sqlite").exists()
