"""What the settings ask for that a plain installation does not have: said before anything is made."""

from __future__ import annotations

from importlib.util import find_spec

from identity_core.settings.errors import SettingsError
from identity_core.settings.tree import Settings, Throttle


def buckets_of(throttle: Throttle, processes: int) -> str:
    """What ``throttle.store`` means: ``memory``, ``sql`` or ``redis``."""
    if throttle.store != "auto":
        return throttle.store
    return "redis" if throttle.redis_url is not None else "sql" if processes > 1 else "memory"


def require_extras(settings: Settings) -> None:
    """Raises ``SettingsError`` for the first library that the settings need and that is not installed."""
    if settings.database_url is not None:
        _require("psycopg", "postgresql", "database_url", settings)
    if buckets_of(settings.throttle, settings.server.workers) == "redis":
        key = "throttle.store" if settings.throttle.store == "redis" else "throttle.redis_url"
        _require("redis", "redis", key, settings)


def _require(module: str, extra: str, key: str, settings: Settings) -> None:
    if find_spec(module) is None:
        what = f"{key} needs the library {module}, which is not installed."
        raise SettingsError(what, f"{settings.origin(key)} ({key})", f"pip install 'identity-service[{extra}]'")
