"""A settings file that says nothing yet: every key with its meaning and its default, behind ``#``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from identity_core.settings.fields import example, is_table, public_fields
from identity_core.settings.tree import Settings


def sample(plugins: Mapping[str, Sequence[type[Any]]]) -> str:
    """The text, with a table for each of ``plugins`` by name. A key that has no default shows an example."""
    lines = [
        "# Settings of the identity service. A line counts without its #; what is left out has the default that it shows."
    ]
    lines += _table(Settings, "")
    for name, tables in sorted(plugins.items()):
        lines += ["", f"# [plugins.{name}]"]
        for table in tables:
            lines += _keys(table, f"plugins.{name}")
    return "\n".join(lines) + "\n"


def _table(table: type[Any], at: str) -> Iterator[str]:
    if at:
        yield from ("", f"# [{at}]")
    yield from _keys(table, at)
    for field, kind in public_fields(table):
        if is_table(kind):
            yield from _table(kind, f"{at}.{field.name}" if at else field.name)


def _keys(table: type[Any], at: str) -> Iterator[str]:
    for field, kind in public_fields(table):
        if not is_table(kind):
            help_text = field.metadata.get("help", "")
            says = field.default is not None or "unset" in help_text or "Default" in help_text
            yield f"## {help_text}" if says else f"## {help_text} Unset where it is left out."
            yield f"# {example(field, kind, None, f'{at}.{field.name}')}"
