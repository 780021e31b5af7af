"""The document index: a projection of the ledger."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, PrimaryKeyConstraint, Text, text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


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

    did: str = Field(sa_type=Name)
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
    owner: str | None = Field(default=None, sa_type=Name)


class Projection(StoreModel, table=True):
    """How far a projection of the ledger has been seen to be without a gap."""

    __tablename__ = "projections"

    name: str = Field(sa_type=Text, primary_key=True)
    sequence: int = Field(sa_type=BigInteger)
