"""The edit of the settings file that turns an extension on or off. All other lines stay."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from identity_core.extension.declaration import Extension
from identity_core.files import durable_draft
from identity_core.settings import Settings, SettingsError, as_toml
from identity_core.settings.sources import line_numbers, parse_toml

_EMPTY: Final[dict[str, list[str]]] = {"enabled": [], "disabled": []}


def require_from_file(settings: Settings, name: str) -> None:
    """Raise ``SettingsError``: when the environment sets one of the lists, so that the file would not count."""
    for key in ("extensions.enabled", "extensions.disabled"):
        if settings.origin(key).kind == "environment":
            what = f"{key} is set by the environment, so the settings file does not count."
            raise SettingsError(what, str(settings.origin(key)), f"Change {name} there, or unset it.")


def write_settings(path: Path, declared: Extension, *, enable: bool) -> None:
    """Turn an extension on or off in the settings file, which keeps its mode and owner. Raises ``OSError``, ``ValueError``."""
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

    Raises ``ValueError``: when the lists are written in a form that cannot be edited.
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
    """Return ``text`` with one list of the table ``extensions``; a comment behind it stays."""
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
