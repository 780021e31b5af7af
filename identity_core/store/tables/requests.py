"""What requests leave behind: challenges and Idempotency-Keys."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text, text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


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
    did: str = Field(sa_type=Name)
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
