"""The transparency log: tiles, the head of the tree, and where transactions are."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables.model import StoreModel


class TransparencyTile(StoreModel, table=True):
    """Up to 256 hashes, concatenated; only the last tile of a level has fewer, and it is replaced as it grows."""

    __tablename__ = "transparency_tiles"
    __table_args__ = (PrimaryKeyConstraint("level", "number"),)

    level: int = Field(sa_type=Integer)
    number: int = Field(sa_type=BigInteger)
    hashes: bytes = Field(sa_type=LargeBinary)


class TransparencyHead(StoreModel, table=True):
    """The one row that an append locks: the size of the tree, its concatenated peaks, and the name that the log began with."""

    __tablename__ = "transparency_head"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
    size: int = Field(sa_type=BigInteger)
    peaks: bytes = Field(sa_type=LargeBinary)
    origin: str | None = Field(sa_type=Text, nullable=True)


class TransparencyPlace(StoreModel, table=True):
    """The sequence of a transaction by the first 63 bits of its hash."""

    __tablename__ = "transparency_places"
    __table_args__ = (PrimaryKeyConstraint("prefix", "sequence"), {"sqlite_with_rowid": False})

    prefix: int = Field(sa_type=BigInteger)
    sequence: int = Field(sa_type=BigInteger)
