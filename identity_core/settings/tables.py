"""The tables ``[plugins.<name>]``: kept as they were written until the plugins are loaded and say which keys they
have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from identity_core.settings.environment import value_of
from identity_core.settings.errors import Origin, SettingsError
from identity_core.settings.fields import Given, build, keys_of, variable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginTables:
    """What was written for plugins. Values may be secret, so nothing of it shows in ``repr``.

    ``file`` and ``command_line`` map dotted keys to values; ``environment`` holds the variables ``IDENTITY_PLUGINS_*``
    as they are, because a variable's name does not tell where the plugin's name ends and the key begins: the plugin's
    fields do. ``aliases`` are keys that a variable with a name of its own sets (``API_KEY``).
    """

    file: Mapping[str, Given] = field(default_factory=dict, repr=False)
    aliases: Mapping[str, Given] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    command_line: Mapping[str, Given] = field(default_factory=dict, repr=False)

    def read(self, name: str, table: type[T], origins: dict[str, Origin] | None = None) -> T:
        """The settings of the plugin ``name``, of the dataclass that it declares. Raises ``SettingsError``."""
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
        """What was written for this dataclass of the plugin ``name``, and nothing of any other."""
        keys = set(keys_of(table, f"plugins.{name}"))
        variables = {form for key in keys for form in (variable(key), f"{variable(key)}_FILE")}
        return PluginTables(
            file={key: value for key, value in self.file.items() if key in keys},
            aliases={key: value for key, value in self.aliases.items() if key in keys},
            environment={one: text for one, text in self.environment.items() if one in variables},
            command_line={key: value for key, value in self.command_line.items() if key in keys},
        )

    def refuse_unknown(self, known: Mapping[str, Iterable[type[Any]]], *, all_loaded: bool = True) -> None:
        """Raises ``SettingsError`` for the first key that no plugin has. ``known`` maps each plugin's name to its
        dataclasses: several plugins of different kinds may share a name, and each takes its own keys from the one
        table. Unless all plugins are loaded, a table or variable that nobody claims may belong to one of the others and
        is let be."""
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
                what = f"{one} is no setting of any installed plugin."
                raise SettingsError(what, f"environment {one}", did_you_mean(one, every, "Unset the variable."))


def _unknown(key: str, name: str, origin: Origin, keys: Mapping[str, set[str]]) -> SettingsError:
    where = f"{origin} ({key})"
    if name not in keys:
        what = f"[plugins.{name}]: no plugin of this name is installed."
        return SettingsError(what, where, did_you_mean(name, keys, "Install it, or remove the table."))
    what = f"{key} is no setting of the plugin {name}."
    return SettingsError(what, where, did_you_mean(key, keys[name], "Remove it."))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A proposal for a misspelt name, else ``otherwise`` with the names that there are."""
    from difflib import get_close_matches

    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {close[0]}?"
    return f"{otherwise} Known: {', '.join(known[:12])}{' …' if len(known) > 12 else ''}." if known else otherwise
