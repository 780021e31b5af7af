"""Delegations, the questions asked under them, and revoked IBCTs."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


class DelegationRow(StoreModel, table=True):
    """One delegation. ``record`` is the JSON of what never changes and is not searched; counters and state have columns, so
    that guarded statements can change them."""

    __tablename__ = "delegations"
    __table_args__ = (
        Index(None, "holder", "created_at", "id"),
        Index(None, "agent", "created_at", "id"),
        Index(None, "created_at", "id"),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    holder: str = Field(sa_type=Name)
    agent: str = Field(sa_type=Name)
    grantor: str = Field(sa_type=Name)
    parent_id: str | None = Field(default=None, sa_type=Name)
    record: bytes = Field(sa_type=LargeBinary)
    not_before: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    max_uses: int | None = Field(default=None, sa_type=BigInteger)
    uses: int = Field(default=0, sa_type=BigInteger)
    max_refusals: int | None = Field(default=None, sa_type=BigInteger)
    refusals: int = Field(default=0, sa_type=BigInteger)
    max_thresholds: int | None = Field(default=None, sa_type=BigInteger)
    suspended_reason: str | None = Field(default=None, sa_type=Text)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_by: str | None = Field(default=None, sa_type=Text)
    revocation_reason: str | None = Field(default=None, sa_type=Text)
    version: int = Field(default=1, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)


class DelegationThreshold(StoreModel, table=True):
    """A question (attribute, type and value, as a digest) that an agent chose under a delegation."""

    __tablename__ = "delegation_thresholds"
    __table_args__ = (PrimaryKeyConstraint("delegation_id", "digest"),)

    delegation_id: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)


class IbctRevocationRow(StoreModel, table=True):
    """An IBCT that its invoker called back, by the SHA-256 of its id or of its nonce (``kind``)."""

    __tablename__ = "ibct_revocations"
    __table_args__ = (PrimaryKeyConstraint("invoker", "kind", "digest"), Index(None, "keep_until"))

    invoker: str = Field(sa_type=Name)
    kind: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    keep_until: int = Field(sa_type=BigInteger)
    revoked_at: int = Field(sa_type=BigInteger)
