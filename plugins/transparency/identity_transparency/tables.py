"""The tables of the log. Migrations of the kernel create them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


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
    service_did: str | None = Field(sa_type=Text, nullable=True)


class TransparencyPlace(StoreModel, table=True):
    """The sequence of a transaction by the first 63 bits of its hash."""

    __tablename__ = "transparency_places"
    __table_args__ = (PrimaryKeyConstraint("prefix", "sequence"), {"sqlite_with_rowid": False})

    prefix: int = Field(sa_type=BigInteger)
    sequence: int = Field(sa_type=BigInteger)


class CosignedCheckpointRow(StoreModel, table=True):
    """A checkpoint that a quorum of witnesses has cosigned, by its size: the newest, and one a minute of those before. ``note`` is the
    signed note with its cosignatures; ``cosigned_at`` is when the quorum was there."""

    __tablename__ = "cosigned_checkpoints"

    size: int = Field(sa_type=BigInteger, primary_key=True, sa_column_kwargs={"autoincrement": False})
    cosigned_at: int = Field(sa_type=BigInteger)
    note: bytes = Field(sa_type=LargeBinary)


class WitnessFileRow(StoreModel, table=True):
    """The published did-witness.json of a DID: ``data``. It approves the first ``versions`` of the log, whose lines have ``log_octets``
    together."""

    __tablename__ = "witness_files"

    did: str = Field(sa_type=Name, primary_key=True)
    versions: int = Field(sa_type=BigInteger)
    log_octets: int = Field(sa_type=BigInteger)
    octets: bytes = Field(sa_type=LargeBinary)
