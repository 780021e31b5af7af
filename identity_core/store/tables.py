"""The base class of the declared tables. The extension with ``identity doctor`` declares those of the kernel.

The steps of ``migrations/`` are generated from the declarations and checked against them. Statements are written by
hand elsewhere, or made by ``records.py``. Only the generator of a step, ``identity doctor`` and tests import this
module. Times are microseconds since 1970 (UTC) unless a name contains seconds; hashes and documents are raw bytes.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import ClassVar

from sqlalchemy import BigInteger, Index, Integer, MetaData, Text, text
from sqlmodel import SQLModel

# Named constraints, because a constraint without a name cannot be changed by a later migration.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata_of_store = MetaData(naming_convention=NAMING)

# Compared byte by byte everywhere, independent of the server's locale.
Name = Text().with_variant(Text(collation="C"), "postgresql")
# In SQLite only a key of exactly this type is the row's own number.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")


def partial_index(name: str | None, *columns: str, where: str) -> Index:
    """Return an index of the rows that satisfy ``where``, on either database."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


class StoreModel(SQLModel):
    """A table of the store. It has separate metadata, without other SQLModel tables."""

    metadata: ClassVar[MetaData] = metadata_of_store


def declared_tables() -> MetaData:
    """Return the tables that installed distributions declare by the entry point ``identity.tables``."""
    for declared in entry_points(group="identity.tables"):
        declared.load()
    return metadata_of_store
