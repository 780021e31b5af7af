"""The servers that the settings name, asked at the start: one that is not there is told with the place that names it."""

from __future__ import annotations

import logging
from typing import Final

from identity_core.database import DatabaseUnavailable, look_at
from identity_core.settings import Settings, StartError, shown_hosts
from identity_core.throttle.fallback import FallbackStorage
from identity_core.throttle.token_bucket import TokenBucketStorage

REASON_CHARACTERS: Final = 200

log = logging.getLogger("identity")


def require_database(settings: Settings) -> None:
    """Raises ``StartError`` where a database server is named and cannot be asked. What may be wrong with its tables is for others."""
    if settings.database_url is None:
        return
    try:
        look = look_at(settings.database_url, settings.data_dir)
    except DatabaseUnavailable as error:
        reason = " ".join(error.reason.split())[:REASON_CHARACTERS]
        what = f"The PostgreSQL server at {_hosts(settings.database_url)} cannot be used: {reason}"
        fix = "Start it, or put database_url right; what is stored there is untouched."
        raise StartError(what, f"{settings.origin('database_url')} (database_url)", fix) from error
    look.end()


async def tell_limits(settings: Settings, buckets: TokenBucketStorage) -> None:
    """Says so in three lines where the shared store of rate limits is not there. The service serves all the same."""
    if not isinstance(buckets, FallbackStorage) or await buckets.begin():
        return
    url = settings.throttle.redis_url
    key = "throttle.store" if url is None else "throttle.redis_url"
    log.warning(
        "the shared store of rate limits%s does not answer", "" if url is None else f", Redis at {_hosts(url)},"
    )
    log.warning("  at: %s (%s)", settings.origin(key), key)
    log.warning("  do: start it; until then each process limits for itself, and callers get as many times their limit")


def _hosts(url: str) -> str:
    return shown_hosts(url) or "the local socket"
