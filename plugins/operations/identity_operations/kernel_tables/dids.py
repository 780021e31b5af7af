"""The document index, challenges, idempotency keys and tags of API keys."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables import Name, RowNumber, StoreModel, partial_index


class DidVersion(StoreModel, table=True):
    """One version of a DID: a projection of one ledger entry. Its key is the place of the entry, so that new rows come last.

    ``state`` is the JSON of the DID's state without the document, ``changes`` a JSON array of strings. Only the first version has
    ``owner``. ``mac`` is the tag over all other columns (``store/row_mac.py``); None in rows from before tags existed.
    """

    __tablename__ = "did_versions"
    __table_args__ = (
        PrimaryKeyConstraint("sequence"),
        Index(None, "did", "version_id", unique=True),
        partial_index(None, "owner", "did", where="owner IS NOT NULL"),
        partial_index("ix_did_versions_without_mac", "did", where="mac IS NULL"),
    )

    did: str = Field(sa_type=Name)
    version_id: int = Field(sa_type=BigInteger)
    printed_second: int = Field(sa_type=BigInteger)
    sequence: int = Field(sa_type=RowNumber, sa_column_kwargs={"autoincrement": False})
    block_number: int = Field(sa_type=BigInteger)
    recorded_at: int = Field(sa_type=BigInteger)
    transaction_hash: bytes = Field(sa_type=LargeBinary)
    state: bytes = Field(sa_type=LargeBinary)
    document: bytes = Field(sa_type=LargeBinary)
    changes: bytes = Field(sa_type=LargeBinary)
    key_id: str | None = Field(default=None, sa_type=Text)
    owner: str | None = Field(default=None, sa_type=Name)
    mac: bytes | None = Field(default=None, sa_type=LargeBinary)


class Projection(StoreModel, table=True):
    """The sequence up to which a projection of the ledger is known to be complete; ``mac`` is the tag of that number."""

    __tablename__ = "projections"

    name: str = Field(sa_type=Text, primary_key=True)
    sequence: int = Field(sa_type=BigInteger)
    mac: bytes | None = Field(default=None, sa_type=LargeBinary)


class QuarantinedDid(StoreModel, table=True):
    """A DID whose index and ledger differ, until an operator repairs it; ``since``: microseconds since 1970, UTC."""

    __tablename__ = "quarantined_dids"

    did: str = Field(sa_type=Name, primary_key=True)
    reason: str = Field(sa_type=Text)
    since: int = Field(sa_type=BigInteger)


class StoreLock(StoreModel, table=True):
    """The single row that each transaction of a writer on PostgreSQL locks first."""

    __tablename__ = "store_lock"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})


class KeptExtension(StoreModel, table=True):
    """An extension that was enabled before the settings could disable it. An upgrade keeps it enabled."""

    __tablename__ = "kept_extensions"

    name: str = Field(sa_type=Text, primary_key=True)


class SpentChallengeRow(StoreModel, table=True):
    """A used challenge or token by the SHA-256 of its text. ``number`` 0 of a ``saying`` states that its subject was withdrawn."""

    __tablename__ = "spent_challenges"
    __table_args__ = (Index(None, "saying", "number"), Index(None, "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    saying: bytes = Field(sa_type=LargeBinary)
    number: int | None = Field(default=None, sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)


class OfferedChallengeRow(StoreModel, table=True):
    """A challenge that was issued to a client address, and whether it was used; see ``identity_client.challenge``."""

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
    """The amount of data that an owner has written: on one UTC day (days since 1970), or with day 0 the amount that is kept
    permanently."""

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
    """The tag of one state of a key (``store/row_mac.py``). ``number`` distinguishes two writers of the same state.
    ``pending_since`` is set until the key store has the key in this state."""

    __tablename__ = "api_key_tags"
    __table_args__ = (PrimaryKeyConstraint("key_id", "number"),)

    key_id: str = Field(sa_type=Name)
    number: bytes = Field(sa_type=LargeBinary)
    tag: bytes = Field(sa_type=LargeBinary)
    pending_since: int | None = Field(default=None, sa_type=BigInteger)
