"""The store of buckets that the settings choose."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from identity_core.database.interface import BUCKETS, driver_of
from identity_core.settings import Settings, buckets_of, shown_hosts
from identity_core.throttle.memory import TokenBucketMemoryStorage, TokenBucketStorage
from identity_server_processes.fallback import FallbackStorage
from identity_server_processes.sqlite import TokenBucketSqliteStorage

# A slower shared store is worth less than the local bucket (openapi/DECISIONS.md §3.6: at most 60 ms a request).
DEADLINE_SECONDS: Final = 0.05

log = logging.getLogger("identity")


async def open_buckets(settings: Settings, monotonic: Callable[[], float]) -> TokenBucketStorage:
    """Return the storage of the setting ``throttle.store``. It must be opened, used and closed in one event loop. If
    a shared store is unavailable, log three lines: the service starts all the same.

    ``auto`` is Redis if there is a ``redis_url``. Otherwise it is SQL for several processes or with a database
    server, which replicas may share, else memory. SQL is ``limits.sqlite`` in ``data_dir``, or the PostgreSQL server.
    """
    throttle, processes = settings.throttle, settings.server.workers
    store = buckets_of(throttle, processes, settings.database_url)
    if store == "memory":
        return TokenBucketMemoryStorage(monotonic=monotonic)
    shared: TokenBucketStorage
    deadline: float | None = DEADLINE_SECONDS
    url = throttle.redis_url if store == "redis" else settings.database_url
    if url is not None:
        shared = driver_of(BUCKETS, url)(f"async+tokenbucket+{url}")
    else:
        # It answers at once and limits its own waiting.
        shared, deadline = TokenBucketSqliteStorage.open(settings.data_dir / "limits.sqlite", monotonic=monotonic), None
    opened = FallbackStorage(shared, processes=processes, monotonic=monotonic, logger=log, deadline_seconds=deadline)
    if not await opened.begin():
        key = "throttle.store" if throttle.redis_url is None else "throttle.redis_url"
        hosts = throttle.redis_url and f", Redis at {shown_hosts(throttle.redis_url) or 'the local socket'},"
        log.warning("the shared store of rate limits%s does not answer", hosts or "")
        log.warning("  at: %s (%s)", settings.origin(key), key)
        log.warning(
            "  do: start it; until then each process limits for itself, and callers get as many times their limit"
        )
    return opened
