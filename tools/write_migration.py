"""Migrations of the store: write the next numbered step, one file for each dialect.

    python -m tools.write_migration what_it_does

Alembic (extra ``checks``) compares the tables that ``identity.tables`` declare with those that the steps make. Rows that must be
moved are added by hand. First add, later remove, so that the version before still works.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.operations.ops import MigrateOperation, OpContainer
from sqlalchemy import Connection, MetaData, create_engine

from identity_core.store import Store, migrations
from identity_core.store.tables import declared_tables

STEPS = Path(migrations.__file__).parent


def differences(connection: Connection, metadata: MetaData | None = None) -> list[MigrateOperation]:
    """Return the operations that make the tables of a database those of ``metadata``; other tables are left alone.

    By default these are the declared tables that steps of the kernel make.
    """
    wanted = metadata or declared_tables()

    def is_ours(_: object, name: str | None, kind: str, reflected: bool, __: object) -> bool:
        declared = wanted.tables.get(name or "")
        if kind != "table" or declared is None:
            return kind != "table" or not reflected
        return metadata is not None or "steps" not in declared.info

    context = MigrationContext.configure(connection, opts={"include_object": is_ours})
    found = produce_migrations(context, wanted).upgrade_ops
    return [] if found is None else list(_flat(found))


def _flat(operations: OpContainer) -> Iterator[MigrateOperation]:
    for operation in operations.ops:
        if isinstance(operation, OpContainer):
            yield from _flat(operation)
        else:
            yield operation


def written(operations: list[MigrateOperation], dialect: str) -> str:
    """Return the SQL statements of ``operations``."""
    output = StringIO()
    context = MigrationContext.configure(dialect_name=dialect, opts={"as_sql": True, "output_buffer": output})
    for operation in operations:
        Operations(context).invoke(operation)
    lines = (line.rstrip() for line in output.getvalue().expandtabs(4).strip().splitlines())
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def main(name: str) -> None:
    """Write the files of the step ``name``."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Store.open(Path(folder)).close())
        with create_engine(f"sqlite:///{folder}/identity.sqlite").connect() as connection:
            operations = differences(connection)
    if not operations:
        raise SystemExit("the steps make these tables already")
    number = 1 + max(int(file.name[:4]) for file in STEPS.glob("*.sql"))
    for dialect in ("sqlite", "postgresql"):
        (STEPS / f"{number:04}_{name}.{dialect}.sql").write_text(written(operations, dialect), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
