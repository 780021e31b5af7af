"""``identity extensions``: the installed extensions, which are on and why; turn one on or off."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from identity_commands.options import installed_plugins
from identity_commands.terminal import ids_option, show_table

from identity_codec.values import replace
from identity_core.cli.options import config_option, configured, of_installation
from identity_core.cli.output import Text, failing, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.database import DatabaseAbsent, DatabaseError
from identity_core.extension.choice import (
    ChosenExtensions,
    InstalledExtension,
    choose_extensions,
    find_state,
    in_order,
    kept_extensions,
    named_extension,
    read_store,
)
from identity_core.extension.declaration import Extension
from identity_core.files import durable_draft
from identity_core.plugin.choose import InstalledPlugin
from identity_core.plugin.sockets import EXTEND_HOOK
from identity_core.settings import Settings, SettingsError, as_toml
from identity_core.settings.sources import line_numbers, parse_toml

TURNED_OFF: Final = "{extension} is off in {file}; restart the service"


@click.group(name="extensions", cls=OpenGroup)
def command() -> None:
    """List, enable and disable the installed extensions; remove their tables."""


def chosen_extensions(settings: Settings) -> ChosenExtensions:
    """Return the installed extensions of an installation, which may not exist yet. Raises ``StartError``,
    ``DatabaseError``."""
    return choose_extensions(installed_extensions(settings), settings, kept_choices(settings))


def kept_choices(settings: Settings) -> frozenset[str]:
    """Return the names of the extensions that an upgrade keeps on. Raises ``DatabaseError``."""
    with contextlib.suppress(DatabaseAbsent):
        return read_store(settings, kept_extensions)
    return frozenset()


def extensions_off(settings: Settings) -> tuple[InstalledExtension, ...]:
    """Return the extensions that are off, by the settings alone if the database cannot be read. Raises ``StartError``."""
    try:
        kept = kept_choices(settings)
    except DatabaseError:
        kept = frozenset()
    return choose_extensions(installed_extensions(settings), settings, kept).off


def with_states(plugins: list[InstalledPlugin], off: Iterable[InstalledExtension]) -> list[InstalledPlugin]:
    """Return the rows of ``plugins``, in which the extensions that are ``off`` are available and not active."""
    names = {one.source.name for one in off}
    return [
        replace(one, state="available", reason="an extension that is off")
        if one.hook == EXTEND_HOOK and one.name in names and one.state == "active"
        else one
        for one in plugins
    ]


def installed_extensions(settings: Settings) -> list[InstalledExtension]:
    """Return the installed extensions in their order. Raises ``StartError``."""
    return in_order(installed_plugins(settings).collection.extensions)


@command.command(name="list")
@of_installation
@ids_option
def list_command(settings: Settings) -> None:
    """List the installed extensions, whether each is enabled, and the setting that decides it."""
    text = "{name}: {state} ({because})"
    columns: dict[str, Text] = {"NAME": "{name}", "STATE": "{state}", "BECAUSE": "{because}", "VERSION": "{version}"}
    rows = chosen_extensions(settings).rows()
    show_table(rows, text=lambda _: "\n".join(map(text.format_map, rows)), columns=columns)


@command.command(name="enable")
@click.argument("name")
@config_option
def enable(name: str, config: Path | None) -> None:
    """Enable the extension NAME in the settings file. Restart the service afterwards."""
    show(turn(configured(config), name, enable=True), text="{extension} is on in {file}; restart the service")


@command.command(name="disable")
@click.argument("name")
@config_option
def disable(name: str, config: Path | None) -> None:
    """Disable the extension NAME in the settings file. Restart the service afterwards; the tables stay."""
    show(turn(configured(config), name, enable=False), text=TURNED_OFF)


def turn(settings: Settings, name: str, *, enable: bool) -> dict[str, Any]:
    """Turn an extension on or off in the settings file, and return its displayed row. An error ends the command."""
    path = (settings.file or Path("identity.toml")).resolve()
    installed = installed_extensions(settings)
    one, key = named_extension(name, installed, "NAME"), f"extensions.{'enabled' if enable else 'disabled'}"
    require_from_file(settings, name)
    refuse_unmet(one, installed, settings, kept_choices(settings), enable=enable)
    with failing((OSError, ValueError), str(path), f'write {key} = ["{name}"] there yourself', what="not changed"):
        write_settings(path, one.declared, enable=enable)
    return {"extension": name, "on": enable, "file": str(path)}


_EMPTY: Final[dict[str, list[str]]] = {"enabled": [], "disabled": []}


def require_from_file(settings: Settings, name: str) -> None:
    """Raise ``SettingsError`` when the environment sets one of the lists, so that the file would have no effect."""
    for key in ("extensions.enabled", "extensions.disabled"):
        if settings.origin(key).kind == "environment":
            what = f"{key} is set by the environment, so the settings file does not count."
            raise SettingsError(what, str(settings.origin(key)), f"Change {name} there, or unset it.")


def write_settings(path: Path, declared: Extension, *, enable: bool) -> None:
    """Turn an extension on or off in the settings file, which keeps its mode and owner.

    Raises ``OSError``, ``ValueError``: when the file cannot be written or edited.
    """
    before = path.stat() if path.exists() else None
    text = "" if before is None else path.read_text("utf-8")
    edited = edit_settings(text, declared.name, enable=enable, default=declared.default)
    with durable_draft(path, edited.encode()) as draft:
        if before is not None:
            os.chown(draft, before.st_uid, before.st_gid)
            draft.chmod(before.st_mode & 0o7777)
        draft.replace(path)


def edit_settings(text: str, name: str, *, enable: bool, default: bool) -> str:
    """Return the text of a settings file that turns the extension ``name`` on or off. All other lines stay.

    Raises ``ValueError``: when the form of the lists cannot be edited.
    """
    before = parse_toml(text)
    lists: dict[str, list[str]] = {**_EMPTY, **before.get("extensions", {})}
    wanted = {key: [one for one in names if one != name] for key, names in lists.items()}
    if not enable or not default:
        wanted["enabled" if enable else "disabled"].append(name)
    for key, names in wanted.items():
        if names != lists[key]:
            text = _with_list(text, key, as_toml(tuple(names)))
    after = parse_toml(text)
    written = after.get("extensions")
    if not isinstance(written, dict) or {**after, "extensions": _EMPTY | written} != {**before, "extensions": wanted}:
        raise ValueError("the lists do not stand in lines of their own")
    return text


def _with_list(text: str, key: str, value: str) -> str:
    """Return ``text`` with one list of the table ``extensions``. A comment after it stays."""
    places = line_numbers(text)
    lines = text.splitlines(keepends=True)
    at = places.get(f"extensions.{key}")
    if at is not None:
        end = next(last for last in range(at, len(lines) + 1) if _is_whole("".join(lines[at - 1 : last])))
        comment = re.search(r"\][ \t]*(#.*)$", lines[end - 1].rstrip("\r\n"))
        head = lines[at - 1].partition("=")[0].rstrip()
        lines[at - 1 : end] = [f"{head} = {value}{f'  {comment[1]}' if comment else ''}\n"]
    elif "extensions" in places:
        lines.insert(places["extensions"], f"{key} = {value}\n")
    else:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        lines.append(f"{gap}[extensions]\n{key} = {value}\n")
    return "".join(lines)


def _is_whole(statement: str) -> bool:
    try:
        parse_toml(statement)
    except ValueError:
        return False
    return True


def refuse_unmet(
    one: InstalledExtension,
    installed: Sequence[InstalledExtension],
    settings: Settings,
    kept: Collection[str],
    *,
    enable: bool,
) -> None:
    """Raise ``SettingsError`` when the requirements of extensions would make a start refuse that ``one`` is turned on
    or off."""
    name, on = one.declared.name, [each for each in installed if find_state(each, settings, kept)[0]]
    if enable:
        unmet = sorted({*one.declared.requires} - {each.declared.name for each in on})
        pairs = [(name, each, f"Enable {each} first.") for each in unmet]
    else:
        needing = [each.declared.name for each in on if name in each.declared.requires]
        pairs = [(each, name, f"Disable {each} first.") for each in sorted(needing)]
    for needs, needed, fix in pairs[:1]:
        raise SettingsError(f"The extension {needs} requires the extension {needed}.", "extensions", fix)
