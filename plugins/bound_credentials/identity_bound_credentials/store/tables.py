"""The tables of suite 2 that no transaction of the kernel writes. Migrations of the kernel create them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, PrimaryKeyConstraint
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


class HolderSecretRow(StoreModel, table=True):
    """The number of a holder's rotations of a secret in the custodian; see ``StoredHolderSecrets``. The secret is in no table."""

    __tablename__ = "holder_secrets"

    holder: str = Field(sa_type=Name, primary_key=True)
    generation: int = Field(sa_type=BigInteger)
    rotated_at: int = Field(sa_type=BigInteger)


class GapEditionRow(StoreModel, table=True):
    """The newest manifest of a list at an epoch, and the version of the list from which it was made."""

    __tablename__ = "gap_editions"
    __table_args__ = (PrimaryKeyConstraint("list_id", "epoch"),)

    list_id: str = Field(sa_type=Name)
    epoch: int = Field(sa_type=BigInteger)
    edition: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    manifest: bytes = Field(sa_type=LargeBinary)


class GapShardRow(StoreModel, table=True):
    """A shard of any edition of an epoch, by its SHA-256."""

    __tablename__ = "gap_shards"
    __table_args__ = (PrimaryKeyConstraint("list_id", "digest"), Index(None, "list_id", "epoch"))

    list_id: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    epoch: int = Field(sa_type=BigInteger)
    octets: bytes = Field(sa_type=LargeBinary)


class GapRecordRow(StoreModel, table=True):
    """The ledger entry of a manifest, by the manifest's SHA-256."""

    __tablename__ = "gap_records"
    __table_args__ = (PrimaryKeyConstraint("list_id", "digest"),)

    list_id: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    epoch: int = Field(sa_type=BigInteger)
    sequence: int = Field(sa_type=BigInteger)
