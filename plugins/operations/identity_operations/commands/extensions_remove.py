"""``identity extensions remove``: drop the stored data of an extension."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Final

import click
from identity_commands.options import refuse_absent
from identity_commands.terminal import agreed

from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, misused, show
from identity_core.database import Transaction, open_database
from identity_core.extension.choice import InstalledExtension, named_extension, read_store
from identity_core.extension.declaration import Extension
from identity_core.settings import Settings
from identity_operations.commands.extensions import TURNED_OFF, installed_extensions, turn


@click.command(name="remove", cls=Command)
@click.argument("name")
@click.option("--purge", is_flag=True, help="Disable the extension and drop its tables.")
@click.option("--yes", is_flag=True, help="Skip the confirmation. Only a backup can undo this.")
@of_installation
def command(settings: Settings, name: str, purge: bool, yes: bool) -> None:
    """Drop the tables of the extension NAME. Stop the service first. Without --purge, only list what would be dropped."""
    refuse_absent(settings)
    installed = installed_extensions(settings)
    one = named_extension(name, installed, "NAME")
    dialect = "sqlite" if settings.database_url is None else "postgresql"
    tables = read_store(settings, lambda reading: tables_of(reading, dialect, one.declared, installed))
    says = f"{name} has {'the tables ' * bool(tables)}{', '.join(tables) or 'no tables'}"
    if not purge:
        show({"extension": name, "tables": tables}, text=f"{says}; --purge drops them and disables it")
    elif not agreed(yes, f"{says}. Drop them and disable {name}?"):
        misused(f"nothing was changed: {says}", "give --yes to drop them")
    else:
        state = turn(settings, name, enable=False)
        purge_tables(settings, one.declared, tables)
        show(state | {"dropped": tables}, text=TURNED_OFF)


_MADE: Final = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", re.IGNORECASE)
_TABLES: Final = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
}


def tables_of(
    transaction: Transaction, dialect: str, declared: Extension, installed: Iterable[InstalledExtension]
) -> list[str]:
    """Return the tables of an extension that the store's database has, sorted: without those of the kernel or of an extension with
    a longer name."""
    prefix = f"{declared.name}_"
    others = tuple(f"{one.declared.name}_" for one in installed if one.declared.name.startswith(prefix))
    tables = [row[0] for row in transaction.execute(_TABLES[dialect]).fetchall()]
    own = {each for each in tables if each.startswith(prefix) and not each.startswith(others)}
    return sorted((own - _kernel_tables() | {*declared.adopts}) & {*tables})


def _kernel_tables() -> set[str]:
    steps = resources.files("identity_core.store.migrations").iterdir()
    return {name for step in steps if step.name.endswith(".sql") for name in _MADE.findall(step.read_text())}


def purge_tables(settings: Settings, declared: Extension, tables: Sequence[str]) -> None:
    """Drop these tables of an extension, which may refer to one another. Raises ``DatabaseError``.

    Adopted tables are only emptied, because a migration of the kernel created them and would not do so again.
    """
    dropped = [each for each in tables if each not in declared.adopts]
    store = open_database(settings.database_url, settings.data_dir / "identity.sqlite", processes=2)

    def drop(transaction: Transaction) -> None:
        if store.dialect == "sqlite":
            transaction.execute("PRAGMA defer_foreign_keys = ON")
        for name in {*tables} & {*declared.adopts}:
            transaction.execute(f"DELETE FROM {name}")  # noqa: S608  (a name of a declaration)
        for names in [", ".join(dropped)] if store.dialect == "postgresql" and dropped else dropped:
            transaction.execute(f"DROP TABLE {names}")

    try:
        if tables:
            store.write_now(drop)
    finally:
        asyncio.run(store.close())
