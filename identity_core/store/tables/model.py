"""What all tables share: their metadata, the names of their constraints, and the column types that differ by database."""

from __future__ import annotations

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

# Compared octet by octet everywhere, whatever the server's locale.
Name = Text().with_variant(Text(collation="C"), "postgresql")
# In SQLite only a key of exactly this type is the row's own number.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")


class StoreModel(SQLModel):
    """What all tables share: their own metadata, so that no other SQLModel table gets in."""

    metadata: ClassVar[MetaData] = metadata_of_store
