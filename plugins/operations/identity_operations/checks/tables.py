"""The comparison of a database with the tables that ``kernel_tables`` and the installed extensions declare.

It uses only SQLAlchemy, which reports types and primary keys. Alembic, which writes the migrations, is not a dependency of the
service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Dialect, Table, UniqueConstraint, create_engine, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from identity_core.database import DatabaseError, Look
from identity_core.store.tables import declared_tables

_DRIVERS: Final = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}


class Difference(Struct, frozen=True):
    """A difference of a database. ``place`` is a table, a column (``usage.day``) or an index. ``is_additional``: the database has
    it, and it is not declared."""

    place: str
    says: str
    is_additional: bool = False

    def __str__(self) -> str:
        return f"{self.place} {self.says}"


def compare(database: Look) -> list[Difference]:
    """Return the differences between the tables of a database and the declared ones. Other tables are ignored. Raises
    ``DatabaseError``."""
    engine = create_engine(_DRIVERS[database.dialect], creator=lambda: database.driver, poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            inspector = inspect(connection)
            # Tables that an extension makes itself are there once it was opened.
            there = {None, *inspector.get_table_names()}
            declared = [one for one in declared_tables().sorted_tables if one.info.get("steps") in there]
            names = [table.name for table in declared]
            asked = (
                inspector.get_multi_columns,
                inspector.get_multi_indexes,
                inspector.get_multi_unique_constraints,
                inspector.get_multi_pk_constraint,
            )
            # All tables at once: a server takes a journey for each question.
            found: list[dict[str, Any]] = [
                {name: one for (_, name), one in ask(filter_names=names).items()} for ask in asked
            ]
            return [
                one
                for table in declared
                for one in _of_table(inspector.dialect, table, *(by_name.get(table.name) for by_name in found))
            ]
    except SQLAlchemyError as error:
        raise DatabaseError(str(error)) from error


def _of_table(
    dialect: Dialect, table: Table, columns: Any, indexes: Any, constraints: Any, key: Any
) -> Iterator[Difference]:
    """Return the differences of one table. ``columns`` and the following parameters come from SQLAlchemy's inspector; None if there
    is no such table."""
    if columns is None:
        yield Difference(table.name, "is missing")
        return
    present = {one["name"]: _column(one["type"], one["nullable"], dialect) for one in columns}
    declared = {one.name: _column(one.type, bool(one.nullable), dialect) for one in table.columns}
    yield from _differences(f"{table.name}.{{}}", declared, present)
    yield from _differences(f"the index {{}} of {table.name}", _declared_indexes(table), _indexes(indexes, constraints))
    names = [column.name for column in table.primary_key]
    if key["constrained_columns"] != names:
        yield Difference(table.name, f"has another primary key than ({', '.join(names)})")


def _differences(place: str, declared: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Difference]:
    """Return the differences of two mappings from a name to its description. ``place`` is a format with a name."""
    for name, what in declared.items():
        if name not in found:
            yield Difference(place.format(name), "is missing")
        elif found[name] != what:
            yield Difference(place.format(name), f"is {found[name]}, not {what}")
    for name in sorted(found.keys() - declared.keys()):
        yield Difference(place.format(name), "is additional", is_additional=True)


def _column(kind: Any, nullable: bool, dialect: Dialect) -> str:
    return f"{kind.compile(dialect)}{'' if nullable else ' NOT NULL'}"


def _index(unique: bool, columns: list[Any]) -> str:
    return f"{'unique ' if unique else ''}over ({', '.join(map(str, columns))})"


def _declared_indexes(table: Table) -> dict[str, str]:
    indexes = {str(one.name): _index(one.unique, [column.name for column in one.columns]) for one in table.indexes}
    constraints = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
    return indexes | {str(one.name): _index(True, [column.name for column in one.columns]) for one in constraints}


def _indexes(indexes: Any, constraints: Any) -> dict[str, str]:
    """Return the indexes, with those of unique constraints under the constraint's name."""
    found = {str(one["name"]): _index(bool(one["unique"]), one["column_names"]) for one in indexes}
    return found | {str(one["name"]): _index(True, [*one["column_names"]]) for one in constraints}
