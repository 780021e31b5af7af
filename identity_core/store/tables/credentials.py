"""Credentials, their schemas, and the lists that say which of them are revoked or suspended."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text, UniqueConstraint, text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


class CredentialSchemaRow(StoreModel, table=True):
    """A schema, for good. ``attributes`` is the JSON array of ``domain/schema_json.py``."""

    __tablename__ = "credential_schemas"

    id: str = Field(sa_type=Name, primary_key=True)
    attributes: bytes = Field(sa_type=LargeBinary)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)


class CredentialRow(StoreModel, table=True):
    """A credential; see ``domain/credential.py``. ``sealed`` is the box with its values and signature, and nothing else in the row
    is secret. The place in the status lists is one of the issuer's alone."""

    __tablename__ = "credentials"
    __table_args__ = (
        UniqueConstraint("issuer", "status_index"),
        Index(None, "holder", "created_at", "id"),
        Index(None, "issuer", "created_at", "id"),
        # What a status list is made from.
        Index(
            "ix_credentials_not_active",
            "issuer",
            "status",
            "status_index",
            sqlite_where=text("status <> 'active'"),
            postgresql_where=text("status <> 'active'"),
        ),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    issuer: str = Field(sa_type=Name)
    holder: str = Field(sa_type=Name)
    schema_id: str = Field(sa_type=Name)
    verification_method: str = Field(sa_type=Text)
    issuer_public_key: bytes = Field(sa_type=LargeBinary)
    valid_from: int = Field(sa_type=BigInteger)
    valid_until: int | None = Field(default=None, sa_type=BigInteger)
    status: str = Field(sa_type=Text)
    status_reason: str | None = Field(default=None, sa_type=Text)
    status_index: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=Integer)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)
    sealed: bytes = Field(sa_type=LargeBinary)


class StatusListRow(StoreModel, table=True):
    """An issuer's list: how many credentials have a place in it, and how often its bits have changed."""

    __tablename__ = "status_lists"
    __table_args__ = (UniqueConstraint("issuer", "number"),)

    id: str = Field(sa_type=Name, primary_key=True)
    issuer: str = Field(sa_type=Name)
    number: int = Field(sa_type=BigInteger)
    issued: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    changed_at: int = Field(sa_type=BigInteger)
