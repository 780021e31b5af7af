"""The settings as written, and their places: environment variables, the lines of a TOML file, and the tables of
plugins."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from identity_codec.values import Hidden
from identity_core.files import read_regular, require_own
from identity_core.settings.fields import Given, Origin, SettingsError, build, keys_of, setting, variable

T = TypeVar("T")

PREFIX = "IDENTITY_"

# Variables with the prefix that are not settings: the settings file itself, and those of the command line as a
# client, of an agent's MCP server and of the project's tests.
_NOT_SETTINGS = re.compile(
    "IDENTITY_(?:CONFIG|PROFILE|URL|ORIGIN|API_KEY|KEYS|TOKEN|LEDGER_KEY|HANDLE|AGENT_DID|AGENT_KEY_FILE|ISSUER|VECTORS|ROUNDS|TEST_.*)"
)

# Kubernetes and Docker links set these in every container beside a service with the name "identity" or "identity-…".
_SERVICE_LINK = re.compile(
    "IDENTITY_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)


def candidates(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that must be settings. An empty one counts as unset, because container files often contain
    them."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(PREFIX)
        and value
        and _NOT_SETTINGS.fullmatch(name) is None
        and not _is_service_link(name, value)
    }


def _is_service_link(name: str, value: str) -> bool:
    if name.endswith("_PORT") and re.match("(?:tcp|udp|sctp)://", value):
        return True
    return _SERVICE_LINK.fullmatch(name) is not None


def value_of(environment: Mapping[str, str], name: str) -> Given | None:
    """Return the value of the variable ``name``, or of the file that ``name_FILE`` names; None when neither is set.
    One newline at the file's end is cut off.

    Raises ``SettingsError``: when both are set or the file cannot be read.
    """
    text, path = environment.get(name) or None, environment.get(f"{name}_FILE") or None
    if path is None:
        return None if text is None else Given(text, Origin("environment", name), is_text=True)
    if text is not None:
        raise SettingsError(
            f"{name} and {name}_FILE are both set.", f"environment {name}, {name}_FILE", "Unset one of them."
        )
    try:
        require_own(Path(path))
        content = read_regular(Path(path)).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"The file that {name}_FILE names cannot be read: {reason}.",
            f"environment {name}_FILE, file {path}",
            "Name a readable file that holds the value and nothing else.",
        ) from error
    return Given(content.removesuffix("\n").removesuffix("\r"), Origin("environment", f"{name}_FILE"), is_text=True)


_INHERITED: Final = (
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONUTF8",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
)
"""The variables that an interpreter and its libraries read first. None of them contains a secret."""


def select_variables(named: Sequence[str]) -> dict[str, str]:
    """Return the environment of a prover's process: the variables that every program needs and those in ``named``,
    and no others."""
    return {name: os.environ[name] for name in (*_INHERITED, *named) if name in os.environ}


def check_variable(variable: str) -> None:
    """Raise ``ValueError`` for a malformed name, and for the service's own variables, which contain its secrets."""
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,127}", variable) is None:
        raise ValueError("it is not the name of a variable")
    if variable == "API_KEY" or (variable.startswith("IDENTITY_") and not variable.startswith("IDENTITY_TEST_")):
        raise ValueError("it is the service's own; what a prover needs stands in its own table")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a settings file. Raises ``ValueError``: when it is not TOML."""
    return tomllib.loads(text)


def line_numbers(text: str) -> dict[str, int]:
    """Return a mapping of dotted keys to line numbers (from 1) for a text that ``tomllib`` accepts.

    Lines are collected until ``tomllib`` accepts them as one statement. A statement spans lines only inside a string
    or an array, and an incomplete one of these never parses. So there is no second TOML grammar here.
    """
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    statement = ""
    start = 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not statement:
            start = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if statement.lstrip().startswith("["):
            table = max(_paths(parsed), key=len)
            lines.setdefault(".".join(table), start)
        else:
            for path in _paths(parsed):
                lines.setdefault(".".join(table + path), start)
        statement = ""
    return lines


def _paths(value: object) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        yield (key,)
        for path in _paths(member):
            yield (key, *path)


@dataclass(frozen=True, slots=True)
class ExtensionSettings:
    """Installed extensions that are on or off against their default; `identity extensions` lists and changes them."""

    enabled: tuple[str, ...] = setting((), "Extensions to serve that are off by default.", example='["vcalm"]')
    disabled: tuple[str, ...] = setting((), "Extensions not to serve.", example='["vcalm"]')

    def __post_init__(self) -> None:
        if both := sorted({*self.enabled} & {*self.disabled}):
            raise ValueError(f"{both[0]} is both enabled and disabled")


class PluginTables(Hidden, Struct, frozen=True):
    """The settings of plugins as written. Values may be secret, so ``repr`` shows none.

    ``file`` and ``command_line``: map dotted keys to values. ``environment``: the variables ``IDENTITY_PLUGINS_*``
    unchanged, because a variable's name does not show where the plugin's name ends and the key begins. The plugin's
    fields decide that.
    ``aliases``: keys that a variable with a special name sets (``API_KEY``).
    """

    file: Mapping[str, Given] = field(default_factory=dict)
    aliases: Mapping[str, Given] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command_line: Mapping[str, Given] = field(default_factory=dict)

    def read(self, name: str, table: type[T], origins: dict[str, Origin] | None = None) -> T:
        """Return the settings of the plugin ``name``, as the dataclass that it declares. Raises ``SettingsError``:
        for an invalid value."""
        at = f"plugins.{name}"
        given: dict[str, Given] = {}
        for key in keys_of(table, at):
            value = (
                self.command_line.get(key)
                or value_of(self.environment, variable(key))
                or self.aliases.get(key)
                or self.file.get(key)
            )
            if value is not None:
                given[key] = value
        return build(table, given, at, origins)

    def only(self, name: str, table: type[Any]) -> PluginTables:
        """Return the settings of this dataclass of the plugin ``name``, without those of its other dataclasses."""
        keys = set(keys_of(table, f"plugins.{name}"))
        variables = {form for key in keys for form in (variable(key), f"{variable(key)}_FILE")}
        return PluginTables(
            file={key: value for key, value in self.file.items() if key in keys},
            aliases={key: value for key, value in self.aliases.items() if key in keys},
            environment={one: text for one, text in self.environment.items() if one in variables},
            command_line={key: value for key, value in self.command_line.items() if key in keys},
        )

    def refuse_unknown(self, known: Mapping[str, Iterable[type[Any]]], *, all_loaded: bool = True) -> None:
        """Raise ``SettingsError`` for the first key that no plugin has.

        ``known`` maps each plugin's name to its dataclasses. Several plugins of different kinds may share a name, and
        each takes its own keys from the one table. Unless all plugins are loaded, an unknown table or variable may
        belong to a plugin that is not loaded, and is ignored.
        """
        keys = {
            name: {key for table in tables for key in keys_of(table, f"plugins.{name}")}
            for name, tables in known.items()
        }
        for key, given in {**self.file, **self.command_line}.items():
            name = key.split(".")[1]
            if key not in keys.get(name, ()) and (all_loaded or name in keys):
                raise _unknown(key, name, given.origin, keys)
        every = {variable(key) for own in keys.values() for key in own}
        for one in self.environment if all_loaded else ():
            if one not in every and one.removesuffix("_FILE") not in every:
                what = f"{one} is not a setting of any installed plugin."
                raise SettingsError(what, f"environment {one}", did_you_mean(one, every, "Unset the variable."))


def _unknown(key: str, name: str, origin: Origin, keys: Mapping[str, set[str]]) -> SettingsError:
    where = f"{origin} ({key})"
    if name not in keys:
        what = f"[plugins.{name}]: no plugin of this name is installed."
        return SettingsError(what, where, did_you_mean(name, keys, "Install it, or remove the table."))
    what = f"{key} is not a setting of the plugin {name}."
    return SettingsError(what, where, did_you_mean(key, keys[name], "Remove it."))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return a proposal for a misspelt name, else ``otherwise`` with the valid names."""
    from difflib import get_close_matches

    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {close[0]}?"
    return f"{otherwise} Known: {', '.join(known[:12])}{' …' if len(known) > 12 else ''}." if known else otherwise


_HOST = r"(\[[0-9A-Fa-f:.%]+\]|[\w.%-]*)(:\d*)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")


def shown_hosts(url: str) -> str | None:
    """Return the hosts of ``url`` with their ports, several between commas as in PostgreSQL, or "".

    Return None if the URL is malformed: an unencoded "/" or "@" in a password would show parts of it as a host, a
    port or a path.
    """
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return place if _HOSTS.fullmatch(place) and "@" not in f"{parts.path}{parts.query}{parts.fragment}" else None


def check_url(schemes: tuple[str, ...], reason: str, url: str) -> None:
    """Check a URL here, because an error message of the library that reads it would contain a part of an unencoded
    password."""
    if not url.startswith(schemes):
        raise ValueError(reason)
    if shown_hosts(url) is None or url.partition("?")[0].count("@") > 1 or re.search(r"\s|%(?![0-9A-Fa-f]{2})", url):
        raise ValueError("what has a meaning in URLs must be percent-encoded in it: @ is %40, / is %2F, % is %25")
