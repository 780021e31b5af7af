"""The settings in force and their sources, the rows of ``identity config show --origin``; and the packages that they
need."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from identity_core.files import install_command
from identity_core.settings.fields import DEFAULT, Origin, SettingsError, is_table, public_fields
from identity_core.settings.sources import shown_hosts
from identity_core.settings.tree import Settings, Throttle

MASKED = "***"


@dataclasses.dataclass(frozen=True, slots=True)
class ShownSetting:
    """One key. ``value`` is fit to be shown: secrets are masked, a URL keeps all but its password."""

    key: str
    value: object
    origin: Origin
    help: str


def show(settings: Settings, plugins: dict[str, list[type[Any]]] | None = None) -> list[ShownSetting]:
    """Every key of the core and, where ``plugins`` maps names to their dataclasses, of the plugins. Raises
    ``SettingsError`` for a plugin's table that is not valid."""
    rows = list(_rows(settings, "", settings.origins))
    for name, tables in (plugins or {}).items():
        for table in tables:
            origins: dict[str, Origin] = {}
            rows += _rows(settings.plugins.tables.read(name, table, origins), f"plugins.{name}", origins)
    return rows


def secrets_of(settings: Settings, plugins: dict[str, list[type[Any]]]) -> list[str]:
    """The values that ``show`` masks, as they are: whoever passes other texts on looks for them there. Of a URL also its password."""
    found: list[str] = []
    tables: list[Any] = [settings]
    tables += (settings.plugins.tables.read(name, one, {}) for name, all_of in plugins.items() for one in all_of)
    while tables:
        table = tables.pop()
        for field, kind in public_fields(type(table)):
            value = getattr(table, field.name)
            if is_table(kind):
                tables.append(value)
            elif value is not None and (field.metadata.get("secret") or not field.repr):
                password = urlsplit(str(value)).password or ""
                found += [str(value), password, unquote(password)]
    return found


def _rows(table: Any, at: str, origins: Any) -> Iterator[ShownSetting]:
    for field, kind in public_fields(type(table)):
        key, value = f"{at}.{field.name}" if at else field.name, getattr(table, field.name)
        if is_table(kind):
            yield from _rows(value, key, origins)
        else:
            shown = _masked(value) if field.metadata.get("secret") or not field.repr else value
            yield ShownSetting(key, shown, origins.get(key, DEFAULT), field.metadata.get("help", ""))


def _masked(value: object) -> object:
    place = shown_hosts(value) if isinstance(value, str) else None
    if not isinstance(value, str) or not place:
        return None if value is None else MASKED
    parts = urlsplit(value)
    user = f"{parts.username}:{MASKED}@" if parts.password else f"{parts.username}@" if parts.username else ""
    # A query may hold a password too.
    return urlunsplit((parts.scheme, user + place, parts.path, MASKED if parts.query else "", ""))


def buckets_of(throttle: Throttle, processes: int, database_url: str | None) -> str:
    """Return the meaning of ``throttle.store``: ``memory``, ``sql`` or ``redis``. Replicas may share a database server."""
    if throttle.store != "auto":
        return throttle.store
    is_shared = processes > 1 or database_url is not None
    return "redis" if throttle.redis_url is not None else "sql" if is_shared else "memory"


def require_extras(settings: Settings) -> None:
    """Check that the drivers of the URLs in the settings are installed. Raises ``SettingsError`` for the first that is not."""
    if settings.database_url is not None:
        _require("identity.databases", settings.database_url, "postgresql", "database_url", settings)
    if buckets_of(settings.throttle, settings.server.workers, settings.database_url) == "redis":
        key = "throttle.store" if settings.throttle.store == "redis" else "throttle.redis_url"
        _require("identity.buckets", str(settings.throttle.redis_url), "redis", key, settings)


def _require(group: str, url: str, extra: str, key: str, settings: Settings) -> None:
    scheme = url.partition(":")[0]
    with suppress(ImportError):
        if [each.load() for each in entry_points(group=group, name=scheme)]:
            return
    what = f"{key} needs the driver for {scheme}://, which is not installed."
    raise SettingsError(what, f"{settings.origin(key)} ({key})", install_command(f"identity-service[{extra}]"))
