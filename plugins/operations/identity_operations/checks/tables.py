"""The comparison of a database with the tables that the numbered steps make: those of the kernel and of installed extensions.

The steps run in an SQLite database in memory, also those of PostgreSQL, because SQLite keeps the names of types as they are written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from msgspec import Struct, field

from identity_codec.values import replace
from identity_core.database import Dialect, Look, migrations

_COLUMNS: Final = {
    "sqlite": """
SELECT made.name, each.name, each.type || CASE each."notnull" WHEN 1 THEN ' NOT NULL' ELSE '' END
FROM sqlite_master AS made, pragma_table_info(made.name) AS each WHERE made.type = 'table' ORDER BY made.name, each.cid
""",
    "postgresql": """
SELECT made.relname, attname, upper(format_type(atttypid, atttypmod))
|| CASE WHEN attcollation <> typcollation THEN ' COLLATE ' || quote_ident(collname) ELSE '' END
|| CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_class AS made JOIN pg_namespace AS home ON home.oid = relnamespace AND nspname = current_schema()
JOIN pg_attribute ON attrelid = made.oid AND attnum > 0 AND NOT attisdropped JOIN pg_type AS kind ON kind.oid = atttypid
LEFT JOIN pg_collation AS rule ON rule.oid = attcollation WHERE relkind = 'r' ORDER BY made.relname, attnum
""",
}
# One row for each column of an index. SQLite gives the indexes of unique constraints numbers instead of names.
_INDEXES: Final = {
    "sqlite": """
SELECT made.name AS table_name, '' AS index_name, 1, 1, each.name, each.pk AS place
FROM sqlite_master AS made, pragma_table_info(made.name) AS each WHERE made.type = 'table' AND each.pk > 0
UNION ALL
SELECT made.name, over.name, over."unique", 0, coalesce(each.name, ''), each.seqno
FROM sqlite_master AS made, pragma_index_list(made.name) AS over, pragma_index_info(over.name) AS each
WHERE made.type = 'table' AND over.origin <> 'pk' ORDER BY table_name, index_name, place
""",
    "postgresql": """
SELECT made.relname, over.relname, indisunique, indisprimary, pg_get_indexdef(over.oid, place, true)
FROM pg_index JOIN pg_class AS made ON made.oid = indrelid AND made.relkind = 'r'
JOIN pg_namespace AS home ON home.oid = made.relnamespace AND nspname = current_schema()
JOIN pg_class AS over ON over.oid = indexrelid CROSS JOIN generate_series(1, indnkeyatts) AS place
ORDER BY made.relname, over.relname, place
""",
}
_NUMBERED: Final = "sqlite_autoindex_"
_SHAPES: Final = re.compile(
    r"CREATE (?:TABLE|(?:UNIQUE )?INDEX) |DROP (?:TABLE|INDEX) |ALTER TABLE (?!\w+ (?:ADD|DROP) CONSTRAINT )"
)


class TableShape(Struct):
    """The columns and indexes of a table by name, each with its description, and the columns of its primary key."""

    columns: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    key: Sequence[str] = ()


class Difference(Struct, frozen=True):
    """A difference of a database. ``place`` is a table, a column (``usage.day``) or an index. ``is_additional``: the database has
    it, and no step makes it."""

    place: str
    says: str
    is_additional: bool = False

    def __str__(self) -> str:
        return f"{self.place} {self.says}"


def compare(database: Look, package: str, record: str) -> list[Difference]:
    """Return the differences between the tables of a database and those that the steps of ``package`` make. Other tables are ignored.

    ``record``: the table that names the steps that ran. Without it there is nothing to compare: an extension that is opened for the
    first time runs them. Raises ``DatabaseError``, and ``sqlite3.Error`` for a step that cannot run here.
    """
    found = database.read_now(lambda reading: read_tables(reading, database.dialect))
    declared = declared_tables(database.dialect, package) if record in found else {}
    return [one for name in sorted(declared) for one in _of_table(name, declared[name], found.get(name))]


def declared_tables(dialect: Dialect, package: str) -> dict[str, TableShape]:
    """Return the tables that the steps make. SQLite cannot change constraints, so keys and indexes are those of its own steps."""
    of_dialect, of_sqlite = _run_steps(dialect, package), _run_steps("sqlite", package)
    return {name: replace(of_sqlite[name], columns=made.columns) for name, made in of_dialect.items()}


def _run_steps(dialect: Dialect, package: str) -> dict[str, TableShape]:
    with closing(sqlite3.connect(":memory:")) as scratch:
        for step in migrations.read_steps(package, dialect):
            for statement in filter(_SHAPES.match, step.statements()):
                # What a server calls these types, as one word each.
                named = statement.replace('TEXT COLLATE "C"', '"TEXT COLLATE ""C"""').replace("BIGSERIAL", "BIGINT")
                scratch.execute(named)
        return read_tables(scratch, "sqlite")


def read_tables(reading: Any, dialect: Dialect) -> dict[str, TableShape]:
    """Return the tables of a database, ``reading`` its transaction."""
    found: dict[str, TableShape] = {}
    for table, column, kind in reading.execute(_COLUMNS[dialect]).fetchall():
        found.setdefault(table, TableShape()).columns[column] = kind
    indexes: dict[tuple[str, str, bool, bool], list[str]] = {}
    for table, index, is_unique, is_key, column, *_ in reading.execute(_INDEXES[dialect]).fetchall():
        indexes.setdefault((table, index, is_unique, is_key), []).append(column)
    for (table, index, is_unique, is_key), columns in indexes.items():
        if is_key:
            found[table].key = columns
        else:
            name = f"uq_{table}_{'_'.join(columns)}" if index.startswith(_NUMBERED) else index
            found[table].indexes[name] = f"{'unique ' if is_unique else ''}over ({', '.join(columns)})"
    return found


def _of_table(name: str, declared: TableShape, found: TableShape | None) -> Iterator[Difference]:
    if found is None:
        yield Difference(name, "is missing")
        return
    yield from _differences(f"{name}.{{}}", declared.columns, found.columns)
    yield from _differences(f"the index {{}} of {name}", declared.indexes, found.indexes)
    if found.key != declared.key:
        yield Difference(name, f"has another primary key than ({', '.join(declared.key)})")


def _differences(place: str, declared: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Difference]:
    """Return the differences of two mappings from a name to its description. ``place`` is a format with a name."""
    for name, what in declared.items():
        if name not in found:
            yield Difference(place.format(name), "is missing")
        elif found[name] != what:
            yield Difference(place.format(name), f"is {found[name]}, not {what}")
    for name in sorted(found.keys() - declared.keys()):
        yield Difference(place.format(name), "is additional", is_additional=True)
