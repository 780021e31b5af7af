"""What requests leave behind: spent challenges, Idempotency-Keys, and how much each caller wrote."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


class SpentChallengeRow(StoreModel, table=True):
    """A spent challenge by the SHA-256 of its text. ``number`` is NULL for a random one; see ``domain/challenge_mac.py``."""

    __tablename__ = "spent_challenges"
    __table_args__ = (Index(None, "saying", "number"), Index(None, "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    saying: bytes = Field(sa_type=LargeBinary)
    number: int | None = Field(default=None, sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)


class UsageRow(StoreModel, table=True):
    """What an owner has written: on one UTC day (days since 1970), or with day 0 what of it is kept for good."""

    __tablename__ = "usage"
    __table_args__ = (Index(None, "day"),)

    owner: str = Field(sa_type=Name, primary_key=True)
    day: int = Field(sa_type=BigInteger, primary_key=True)
    records: int = Field(sa_type=BigInteger)
    octets: int = Field(sa_type=BigInteger)


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
