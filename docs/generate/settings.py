"""The page of settings: every key of the core and of the installed plugins, with its default, its limits and its meaning."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from identity_commands.options import installed_plugins

from docs.generate.document import page, table
from identity_core.settings import Settings
from identity_core.settings.fields import as_toml, is_table, public_fields, variable


def settings_page() -> str:
    """The tables in the order of the settings file, then those of plugins by name."""
    tables = [_table(Settings, "")]
    tables += [_table(kind, one.name) for one, kind in public_fields(Settings) if is_table(kind)]
    for name, kinds in sorted(installed_plugins(Settings()).settings_tables().items()):
        tables += [_table(kind, f"plugins.{name}") for kind in kinds if public_fields(kind)]
    return page(
        "# Settings",
        "`identity.toml` in the working directory, or the file that `--config` or `IDENTITY_CONFIG` names. The environment wins "
        "over the file: `[server] port` is `IDENTITY_SERVER_PORT`, and `IDENTITY_SERVER_PORT_FILE` names a file that holds the value. "
        "`identity config show --origin` prints what is in force and where it came from; `identity config check` says what is wrong.",
        *tables,
    )


def _table(kind: type[Any], at: str) -> str:
    title = f"(settings-{at.replace('.', '-')})=\n## \\[{at}\\]" if at else "## At the top of the file"
    says = "" if kind is Settings else _flat(inspect.getdoc(kind) or "")
    # A dataclass without a docstring has its signature for one.
    words = "" if says.startswith(f"{kind.__name__}(") else says
    return page(title, words, table(("key", "default", "meaning"), _rows(kind, at)))


def _rows(kind: type[Any], at: str) -> Iterator[tuple[str, str, str]]:
    for one, type_ in public_fields(kind):
        if is_table(type_):
            continue
        key = f"{at}.{one.name}" if at else one.name
        meaning = f"{one.metadata.get('help', '')}{_limits(one, type_)}"
        yield f"`{one.name}`<br>`{variable(key)}`", _default(one), meaning


def _default(field: dataclasses.Field[Any]) -> str:
    default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    if default is dataclasses.MISSING:
        return "must be set"
    return "unset" if default is None else f"`{as_toml(default)}`"


def _limits(field: dataclasses.Field[Any], kind: Any) -> str:
    least, most = field.metadata.get("least"), field.metadata.get("most")
    choices = next((one for one in (kind, *get_args(kind)) if get_origin(one) is Literal), None)
    said = [f"`{one}`" for one in get_args(choices)] if choices is not None else []
    said += [f"{word} {value:,}" for word, value in (("at least", least), ("at most", most)) if value is not None]
    said += ["a secret"] if field.metadata.get("secret") else []
    return f" ({', '.join(said)})" if said else ""


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("``", "`").strip()
