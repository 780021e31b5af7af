"""The tables of the store, as SQLModel classes: what the steps of ``migrations/`` are written from and checked against.

Statements are written by hand beside this, or made by ``records.py``; nothing imports the package but the author of a step,
``identity doctor`` and tests. Times are microseconds since 1970 (UTC) unless a name says seconds; hashes and documents are raw bytes.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import ClassVar

from sqlalchemy import BigInteger, Integer, MetaData, Text
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

# Compared byte by byte everywhere, whatever the server's locale.
Name = Text().with_variant(Text(collation="C"), "postgresql")
# In SQLite only a key of exactly this type is the row's own number.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")


class StoreModel(SQLModel):
    """A table of the store. It has its own metadata, so that no other SQLModel table gets in."""

    metadata: ClassVar[MetaData] = metadata_of_store


def declared_tables() -> MetaData:
    """Return the tables of the store: those of the kernel, and of installed extensions (entry point ``identity.tables``)."""
    for module in ("credentials", "dids", "proofs"):
        import_module(f"{__name__}.{module}")
    for declared in entry_points(group="identity.tables"):
        declared.load()
    return metadata_of_store
