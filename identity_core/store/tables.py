"""The tables of the store, as SQLModel classes: what migrations are made from and checked against.

Hot paths use hand-written SQL beside this; nothing imports the module but migrations and tests. Times are microseconds
since 1970 (UTC) unless a name says seconds; hashes and documents are raw octets.
"""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, MetaData, PrimaryKeyConstraint, Text, text
from sqlmodel import Field, SQLModel

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
_Name = Text().with_variant(Text(collation="C"), "postgresql")
# In SQLite only a key of exactly this type is the row's own number.
_RowNumber = BigInteger().with_variant(Integer(), "sqlite")


class StoreModel(SQLModel):
    """What all tables share: their own metadata, so that no other SQLModel table gets in."""

    metadata: ClassVar[MetaData] = metadata_of_store


class DidVersion(StoreModel, table=True):
    """One version of a DID: a projection of one ledger entry.

    ``state`` is the JSON of everything in the DID's state but the document, ``changes`` a JSON array of strings. ``owner`` stands in the
    first version only.
    """

    __tablename__ = "did_versions"
    __table_args__ = (
        PrimaryKeyConstraint("did", "version_id"),
        Index(None, "did", "printed_second"),
        Index(None, "sequence", unique=True),
        Index(None, "owner", "did", sqlite_where=text("owner IS NOT NULL"), postgresql_where=text("owner IS NOT NULL")),
    )

    did: str = Field(sa_type=_Name)
    version_id: int = Field(sa_type=BigInteger)
    printed_second: int = Field(sa_type=BigInteger)
    sequence: int = Field(sa_type=BigInteger)
    block_number: int = Field(sa_type=BigInteger)
    recorded_at: int = Field(sa_type=BigInteger)
    transaction_hash: bytes = Field(sa_type=LargeBinary)
    state: bytes = Field(sa_type=LargeBinary)
    document: bytes = Field(sa_type=LargeBinary)
    changes: bytes = Field(sa_type=LargeBinary)
    key_id: str | None = Field(default=None, sa_type=Text)
    owner: str | None = Field(default=None, sa_type=_Name)


class Projection(StoreModel, table=True):
    """How far a projection of the ledger has been seen to be without a gap."""

    __tablename__ = "projections"

    name: str = Field(sa_type=Text, primary_key=True)
    sequence: int = Field(sa_type=BigInteger)


class ChallengeRow(StoreModel, table=True):
    """A challenge by the SHA-256 of its text. ``purpose`` and ``body_hash`` are ``-`` where it is not bound."""

    __tablename__ = "challenges"
    __table_args__ = (
        # Spent ones are not in the way of those that are looked for.
        Index(
            None,
            "did",
            "body_hash",
            "purpose",
            sqlite_where=text("spent = 0"),
            postgresql_where=text("spent = 0"),
        ),
        Index(None, "expires_at"),
    )

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    did: str = Field(sa_type=_Name)
    origin: str = Field(sa_type=Text)
    purpose: str = Field(sa_type=Text)
    body_hash: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    expires_at: int = Field(sa_type=BigInteger)
    spent: int = Field(default=0, sa_type=Integer)


class IdempotencyKeyRow(StoreModel, table=True):
    """A request by the hash of its Idempotency-Key; ``status`` is NULL until it was answered. ``headers`` is JSON."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "begun_at"),)

    key_hash: str = Field(sa_type=Text, primary_key=True)
    fingerprint: str = Field(sa_type=Text)
    begun_at: int = Field(sa_type=BigInteger)
    status: int | None = Field(default=None, sa_type=Integer)
    headers: bytes | None = Field(default=None, sa_type=LargeBinary)
    body: bytes | None = Field(default=None, sa_type=LargeBinary)


class AuditLine(StoreModel, table=True):
    """One line of the audit log: its JSON as it was hashed, and the hash that chains it to the line before."""

    __tablename__ = "audit_lines"

    sequence: int = Field(sa_type=_RowNumber, primary_key=True, sa_column_kwargs={"autoincrement": False})
    line: bytes = Field(sa_type=LargeBinary)
    link: bytes = Field(sa_type=LargeBinary)


class AuditHead(StoreModel, table=True):
    """The one row that a writer on PostgreSQL locks before it reads the last line."""

    __tablename__ = "audit_head"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
