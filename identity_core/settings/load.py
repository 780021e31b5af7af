"""Reading and merging of the layers: defaults, file, environment, command line; and the display of the result.

The rows of ``identity config show --origin`` name the source of each value. ``require_extras`` checks the packages
that values need.
"""

from __future__ import annotations

import errno
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from identity_codec.values import replace
from identity_core.files import install_command, read_regular, require_own
from identity_core.settings.fields import (
    DEFAULT,
    Given,
    Origin,
    SettingsError,
    build,
    is_table,
    keys_of,
    public_fields,
    variable,
)
from identity_core.settings.sources import (
    PREFIX,
    PluginTables,
    candidates,
    did_you_mean,
    line_numbers,
    shown_hosts,
    value_of,
)
from identity_core.settings.tree import Settings, Throttle

DEFAULT_FILE = Path("identity.toml")
SYSTEM_FILE = Path("/etc/identity/identity.toml")
"""Read if there is no other file. Root reads it before the working directory's, which any user may own."""

# Variables with special names, and the keys that they set. ``API_KEY`` is the first.
ALIASES = {"API_KEY": "plugins.env.api_key", "IDENTITY_API_KEYS": "plugins.env.api_keys"}


def load(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    found: list[SettingsError] | None = None,
) -> Settings:
    """Return the current settings.

    ``file``: the TOML file. Without it the variable ``IDENTITY_CONFIG`` names one, else ``identity.toml`` in the
    working directory is read if it exists, else ``/etc/identity/identity.toml``; for root in the opposite order. A
    file that another user can write is refused, and so is such a data directory or a file in it
    (``files.require_own``).
    ``environment``: the process's own if None.
    ``overrides``: maps dotted keys to values of the command line; a None value means that the option was not given.
    ``found``: gets all errors except that of an unreadable file.

    Raises ``SettingsError``: for an invalid setting; with ``found`` only for a file that cannot be read at all.
    """
    environ = os.environ if environment is None else environment
    keys = frozenset(keys_of(Settings, ""))
    path = _file_read(file, environ)
    if path is not None:
        _require_own(path, "settings file", is_named=bool(file or environ.get("IDENTITY_CONFIG")))
    from_file = {} if path is None else _file_layer(path, keys, found)
    from_environment, plugin_variables, aliases = _environment_layer(environ, keys, found)
    from_command = {
        key: Given(
            value, Origin("command line", "--" + key.rpartition(".")[2].replace("_", "-")), isinstance(value, str)
        )
        for key, value in (overrides or {}).items()
        if value is not None
    }
    for key, given in from_command.items():
        _require_known(key, given.origin, keys)
    origins: dict[str, Origin] = {}
    for layer in (from_file, from_environment):
        _follow_folder(layer, from_file | from_environment | from_command)
    settings = build(Settings, from_file | from_environment | from_command, "", origins, found)
    for place in (settings.data_dir, *settings.data_dir.glob("*.*")):
        _require_own(place, "data directory", is_named="data_dir" in origins)
    tables = PluginTables(_of_plugins(from_file, keys), aliases, plugin_variables, _of_plugins(from_command, keys))
    return replace(settings, origins=origins, file=path, plugins=replace(settings.plugins, tables=tables))


def _of_plugins(layer: Mapping[str, Given], keys: frozenset[str]) -> dict[str, Given]:
    return {key: given for key, given in layer.items() if key not in keys}


def _follow_folder(layer: dict[str, Given], values: Mapping[str, Given]) -> None:
    """Replace the checkpoint of a layer by one beside the data directory if a higher layer names another directory. The file of the layer
    belongs to the databases of its own."""
    folder, own = values.get("data_dir"), layer.get("data_dir")
    if own and folder and Path(str(own.value)).absolute() != Path(str(folder.value)).absolute():
        layer["ledger.checkpoint_path"] = Given(f"{Path(str(folder.value))}.checkpoint", folder.origin)


def _file_read(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the settings file that was named, even if it is missing, else the first that exists."""
    named = file or (Path(environ["IDENTITY_CONFIG"]) if environ.get("IDENTITY_CONFIG") else None)
    known = (SYSTEM_FILE, DEFAULT_FILE) if os.geteuid() == 0 else (DEFAULT_FILE, SYSTEM_FILE)
    return named or next((path for path in known if path.exists()), None)


def _require_own(path: Path, what: str, *, is_named: bool) -> None:
    """Raise ``SettingsError`` when another user can write the file, or the folder in which a settings file or a link
    was found. Other errors of reading are left to its reader."""
    try:
        if not is_named and (path.is_file() or path.is_symlink()):
            for folder in (path.absolute().parent, path.resolve().parent):
                require_own(folder, is_named=False)
        require_own(path, is_named=is_named)
    except OSError as error:
        if error.errno == errno.EPERM:
            fix = "Run the command elsewhere, or name one of your own; or take it over: chown, chmod go-w. A container mounts it read-only."
            raise SettingsError(f"The {what} is not used: {error.strerror}.", str(error.filename), fix) from error


def _file_layer(path: Path, keys: frozenset[str], found: list[SettingsError] | None) -> dict[str, Given]:
    try:
        text = read_regular(path).decode()
        parsed = tomllib.loads(text)
    except FileNotFoundError:
        fix = "Create the file, or name another with --config or IDENTITY_CONFIG."
        raise SettingsError("The settings file does not exist.", f"file {path}", fix) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        fix = "Make it a readable text file in UTF-8."
        raise SettingsError(f"The settings file cannot be read: {reason}.", f"file {path}", fix) from error
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, str(error)) from error
    lines = line_numbers(text)
    layer: dict[str, Given] = {}
    for key, value in _leaves(parsed):
        origin = Origin("file", f"{path}:{lines.get(key, 1)}")
        try:
            _require_known(key, origin, keys, is_empty_table=value == {})
            layer |= {} if value == {} else {key: Given(value, origin)}
        except SettingsError as error:
            _tell(error, found)
    return layer


def _tell(error: SettingsError, found: list[SettingsError] | None) -> None:
    """Raise the error, or append it to ``found``."""
    if found is None:
        raise error
    found.append(error)


def _not_toml(path: Path, reason: str) -> SettingsError:
    found = re.search(r"\s*\(at (?:line ([0-9]+), column [0-9]+|end of document)\)", reason)
    place = f"{path}:{found[1]}" if found and found[1] else f"{path} (at its end)"
    what = reason[: found.start()] if found else reason
    fix = 'Correct the line; texts need quotes, lists look like ["a", "b"], truth is true or false.'
    return SettingsError(f"The settings file is not TOML: {what}.", f"file {place}", fix)


def _leaves(table: Mapping[str, object], at: str = "") -> Iterator[tuple[str, object]]:
    """Yield every value by its dotted key. An empty table counts as a value, so that a misspelt one is noticed."""
    for name, value in table.items():
        key = f"{at}.{name}" if at else name
        if isinstance(value, dict) and value:
            yield from _leaves(value, key)
        else:
            yield key, value


def _require_known(key: str, origin: Origin, keys: frozenset[str], *, is_empty_table: bool = False) -> None:
    tables = {one.name for one, kind in public_fields(Settings) if is_table(kind)}
    parts = key.split(".")
    if key in keys or (parts[0] == "plugins" and len(parts) >= 3 and f"plugins.{parts[1]}" not in keys):
        return
    is_plugin_table = parts[0] == "plugins" and len(parts) == 2
    if is_empty_table and (key in tables or is_plugin_table):
        return
    if key in tables:
        what, fix = f"{key} must be a table.", f"Write its keys below a line [{key}]."
    elif is_plugin_table:
        what = f"{key} is not a setting, and a plugin's settings are a table."
        own = [one.split(".")[1] for one in keys if one.startswith("plugins.")]
        fix = did_you_mean(parts[1], own, f"Write its keys below a line [{key}].")
    else:
        what = f"{key} is not a setting."
        known = keys if "." in key else tables | {one for one in keys if "." not in one}
        fix = did_you_mean(key, known, "Remove it; identity config show lists the settings.")
    raise SettingsError(what, f"{origin} ({key})", fix)


def _environment_layer(
    environ: Mapping[str, str], keys: frozenset[str], found: list[SettingsError] | None
) -> tuple[dict[str, Given], dict[str, str], dict[str, Given]]:
    """Return values of the core's keys, variables for plugins unchanged, and values of the aliases by key."""
    aliases = {key: given for name, key in ALIASES.items() if (given := value_of(environ, name)) is not None}
    own = {variable(key): key for key in keys}
    layer: dict[str, Given] = {}
    plugin_variables: dict[str, str] = {}
    for name, value in candidates(environ).items():
        stem = name if name in own else name.removesuffix("_FILE")
        if stem in own:
            if (given := value_of(environ, stem)) is not None:
                layer[own[stem]] = given
        elif name.startswith(f"{PREFIX}PLUGINS_"):
            plugin_variables[name] = value
        elif name.removesuffix("_FILE") not in ALIASES:
            fix = did_you_mean(name, own, "Unset the variable; identity config show lists the settings.")
            _tell(SettingsError(f"{name} is not a setting.", f"environment {name}", fix), found)
    return layer, plugin_variables, aliases


MASKED = "***"


class ShownSetting(Struct, frozen=True):
    """One displayed key. ``value`` has no secrets: they are masked, and of a URL only the password and the query."""

    key: str
    value: object
    origin: Origin
    help: str


def show(settings: Settings, plugins: dict[str, list[type[Any]]] | None = None) -> list[ShownSetting]:
    """Return every key of the core and, if ``plugins`` maps names to their dataclasses, of the plugins.

    Raises ``SettingsError``: for an invalid table of a plugin.
    """
    rows = list(_rows(settings, "", settings.origins))
    for name, tables in (plugins or {}).items():
        for table in tables:
            origins: dict[str, Origin] = {}
            rows += _rows(settings.plugins.tables.read(name, table, origins), f"plugins.{name}", origins)
    return rows


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
    # A query may contain a password, too.
    return urlunsplit((parts.scheme, user + place, parts.path, MASKED if parts.query else "", ""))


def buckets_of(throttle: Throttle, processes: int, database_url: str | None) -> str:
    """Return the meaning of ``throttle.store``: ``memory``, ``sql`` or ``redis``. Replicas may share a database server."""
    if throttle.store != "auto":
        return throttle.store
    is_shared = processes > 1 or database_url is not None
    return "redis" if throttle.redis_url is not None else "sql" if is_shared else "memory"


def require_extras(settings: Settings) -> None:
    """Check that the drivers of the URLs in the settings are installed. Raises ``SettingsError``: for the first
    missing one."""
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
