"""What requests leave behind."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


class StoreLock(StoreModel, table=True):
    """The one row that each transaction of a writer on PostgreSQL locks first."""

    __tablename__ = "store_lock"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})


class KeptExtension(StoreModel, table=True):
    """An extension that was on before the settings could turn it off, and that an upgrade keeps on."""

    __tablename__ = "kept_extensions"

    name: str = Field(sa_type=Text, primary_key=True)


class VerifierChallengeRow(StoreModel, table=True):
    """A challenge that a verifier obtained for its domain, by the SHA-256 of its text; ``spent`` once it was used."""

    __tablename__ = "verifier_challenges"
    __table_args__ = (Index(None, "spent", "expires_at"), Index(None, "owner", "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    owner: str = Field(sa_type=Name)
    domain: str = Field(sa_type=Text)
    expires_at: int = Field(sa_type=BigInteger)
    spent: int = Field(default=0, sa_type=Integer)


class SpentChallengeRow(StoreModel, table=True):
    """A used challenge or token by the SHA-256 of its text; or ``number`` 0 of a ``saying``, which states that something was withdrawn."""

    __tablename__ = "spent_challenges"
    __table_args__ = (Index(None, "saying", "number"), Index(None, "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    saying: bytes = Field(sa_type=LargeBinary)
    number: int | None = Field(default=None, sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)


class OfferedChallengeRow(StoreModel, table=True):
    """A challenge that was handed out to a client address, and whether it was used; see ``identity_client.challenge``."""

    __tablename__ = "offered_challenges"
    __table_args__ = (
        Index(None, "scope", "used", "offered_at"),
        Index(None, "scope", "address", "used", "offered_at"),
        Index(None, "expires_at"),
    )

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    scope: bytes = Field(sa_type=LargeBinary)
    address: str = Field(sa_type=Name)
    number: bytes = Field(sa_type=LargeBinary)
    expires_at: int = Field(sa_type=BigInteger)
    offered_at: int = Field(sa_type=BigInteger)
    used: int = Field(default=0, sa_type=Integer)


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


class ApiKeyTag(StoreModel, table=True):
    """The tag of one state of a key (``store/api_key_tags.py``). ``number`` tells two writers apart who write the same;
    ``pending_since`` is set until the key store has the key in this state."""

    __tablename__ = "api_key_tags"
    __table_args__ = (PrimaryKeyConstraint("key_id", "number"),)

    key_id: str = Field(sa_type=Name)
    number: bytes = Field(sa_type=LargeBinary)
    tag: bytes = Field(sa_type=LargeBinary)
    pending_since: int | None = Field(default=None, sa_type=BigInteger)
