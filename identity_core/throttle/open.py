"""Which store the buckets live in. One place knows all of them, and imports only the one that is chosen."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from identity_core.settings import Throttle, buckets_of
from identity_core.throttle.fallback import FallbackStorage
from identity_core.throttle.memory import TokenBucketMemoryStorage
from identity_core.throttle.token_bucket import TokenBucketStorage

# A shared store that needs longer is worth less than the local bucket (openapi/DECISIONS.md §3.6: at most 60 ms a request).
DEADLINE_SECONDS = 0.05


def open_buckets(
    settings: Throttle,
    data_dir: Path,
    database_url: str | None,
    processes: int,
    *,
    monotonic: Callable[[], float],
    logger: logging.Logger,
) -> TokenBucketStorage:
    """The storage that the setting ``throttle.store`` means, for ``processes`` that share the limits.

    ``auto`` is Redis where there is a ``redis_url``, else SQL for several processes, else memory. SQL is ``limits.sqlite``
    in ``data_dir``, or the PostgreSQL server. To be opened, used and closed in one event loop.
    """
    store = buckets_of(settings, processes)
    if store == "memory":
        return TokenBucketMemoryStorage(monotonic=monotonic)
    shared, deadline = _redis(settings) if store == "redis" else _sql(data_dir, database_url, monotonic)
    return FallbackStorage(shared, processes=processes, monotonic=monotonic, logger=logger, deadline_seconds=deadline)


def _redis(settings: Throttle) -> tuple[TokenBucketStorage, float | None]:
    from identity_core.throttle.redis import TokenBucketRedisStorage

    return TokenBucketRedisStorage(f"async+tokenbucket+{settings.redis_url}"), DEADLINE_SECONDS


def _sql(
    data_dir: Path, database_url: str | None, monotonic: Callable[[], float]
) -> tuple[TokenBucketStorage, float | None]:
    if database_url is None:
        from identity_core.throttle.sqlite import TokenBucketSqliteStorage

        # SQLite answers at once and limits its own waiting.
        return TokenBucketSqliteStorage.at(data_dir / "limits.sqlite", monotonic=monotonic), None
    from identity_core.throttle.postgresql import TokenBucketPostgresqlStorage

    return TokenBucketPostgresqlStorage(f"async+tokenbucket+{database_url}"), DEADLINE_SECONDS
