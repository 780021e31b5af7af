"""What happened and what was verified, and what requests leave behind."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text
from sqlmodel import Field

from identity_core.store.tables.model import Name, RowNumber, StoreModel


class AuditLine(StoreModel, table=True):
    """One line of the audit log: its JSON as it was hashed, and the hash that chains it to the line before."""

    __tablename__ = "audit_lines"

    sequence: int = Field(sa_type=RowNumber, primary_key=True, sa_column_kwargs={"autoincrement": False})
    line: bytes = Field(sa_type=LargeBinary)
    link: bytes = Field(sa_type=LargeBinary)


class AuditHead(StoreModel, table=True):
    """The one row that says how far the chain reaches, which a writer on PostgreSQL locks before it reads.

    ``mac`` is the tag of the other three; ``keyed_from`` is the first line that was written since there is one. All are None before the
    first such line. ``cut_sequence`` and ``cut_link`` are those of the last line that is past its time, ``cut_mac`` is their tag.
    """

    __tablename__ = "audit_head"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
    sequence: int | None = Field(default=None, sa_type=BigInteger)
    link: bytes | None = Field(default=None, sa_type=LargeBinary)
    keyed_from: int | None = Field(default=None, sa_type=BigInteger)
    mac: bytes | None = Field(default=None, sa_type=LargeBinary)
    cut_sequence: int | None = Field(default=None, sa_type=BigInteger)
    cut_link: bytes | None = Field(default=None, sa_type=LargeBinary)
    cut_mac: bytes | None = Field(default=None, sa_type=LargeBinary)


class StoreLock(StoreModel, table=True):
    """The one row that each transaction of a writer on PostgreSQL locks first."""

    __tablename__ = "store_lock"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})


class KeptExtension(StoreModel, table=True):
    """An extension that was on before the settings could turn it off, and that an upgrade keeps on."""

    __tablename__ = "kept_extensions"

    name: str = Field(sa_type=Text, primary_key=True)


class TimelineEvent(StoreModel, table=True):
    """One event; see ``ports/activity.py``. The id begins with the time in microseconds, so that it is the order too."""

    __tablename__ = "timeline"
    __table_args__ = (
        Index(None, "holder", "id"),
        Index(None, "agent", "id"),
        Index(None, "kind", "id"),
        Index(None, "holder", "kind", "id"),
        Index(None, "agent", "kind", "id"),
        Index(None, "issuer", "kind", "id"),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    at: int = Field(sa_type=BigInteger)
    kind: str = Field(sa_type=Name)
    outcome: str = Field(sa_type=Text)
    code: str | None = Field(default=None, sa_type=Text)
    actor: str | None = Field(default=None, sa_type=Text)
    holder: str | None = Field(default=None, sa_type=Name)
    agent: str | None = Field(default=None, sa_type=Name)
    issuer: str | None = Field(default=None, sa_type=Name)
    delegation_id: str | None = Field(default=None, sa_type=Text)
    credential_id: str | None = Field(default=None, sa_type=Text)
    proof_id: str | None = Field(default=None, sa_type=Text)


class VerificationTable(StoreModel, table=True):
    """One verification by somebody known; see ``ports/activity.py``. ``codes`` is a JSON array. No value stands here."""

    __tablename__ = "verifications"
    __table_args__ = (Index(None, "caller", "id"), Index(None, "verifier", "id"), Index(None, "holder", "id"))

    id: str = Field(sa_type=Name, primary_key=True)
    at: int = Field(sa_type=BigInteger)
    verified: int = Field(sa_type=Integer)
    caller: str = Field(sa_type=Name)
    verifier: str | None = Field(default=None, sa_type=Name)
    fingerprint: str | None = Field(default=None, sa_type=Text)
    holder: str | None = Field(default=None, sa_type=Name)
    issuer: str | None = Field(default=None, sa_type=Name)
    schema_id: str | None = Field(default=None, sa_type=Text)
    proof_id: str | None = Field(default=None, sa_type=Text)
    attribute: str | None = Field(default=None, sa_type=Text)
    predicate_type: str | None = Field(default=None, sa_type=Text)
    codes: bytes = Field(sa_type=LargeBinary)


class VerifierChallengeRow(StoreModel, table=True):
    """A challenge that a verifier obtained for its domain, by the SHA-256 of its text; ``spent`` once it was used."""

    __tablename__ = "verifier_challenges"
    __table_args__ = (Index(None, "spent", "expires_at"), Index(None, "owner", "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    owner: str = Field(sa_type=Name)
    domain: str = Field(sa_type=Text)
    expires_at: int = Field(sa_type=BigInteger)
    spent: int = Field(default=0, sa_type=Integer)


class PresentationRequestRow(StoreModel, table=True):
    """What a verifier asked a wallet for, by the SHA-256 of the id of the request; ``answer`` is NULL until the wallet answered. Both are
    sealed."""

    __tablename__ = "presentation_requests"
    __table_args__ = (Index(None, "expires_at"), Index(None, "owner", "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    owner: str = Field(sa_type=Name)
    request: bytes = Field(sa_type=LargeBinary)
    expires_at: int = Field(sa_type=BigInteger)
    answer: bytes | None = Field(default=None, sa_type=LargeBinary)


class SpentChallengeRow(StoreModel, table=True):
    """A used challenge or token by the SHA-256 of its text; or ``number`` 0 of a ``saying``, which states that something was withdrawn."""

    __tablename__ = "spent_challenges"
    __table_args__ = (Index(None, "saying", "number"), Index(None, "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    saying: bytes = Field(sa_type=LargeBinary)
    number: int | None = Field(default=None, sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)


class OfferedChallengeRow(StoreModel, table=True):
    """A challenge that was handed out to a client address, and whether it was used; see ``domain/dids/challenge.py``."""

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


class ConsentReplyRow(StoreModel, table=True):
    """What a holder has answered an agent on her page, sealed, until the agent has had the time to fetch it."""

    __tablename__ = "consent_replies"
    __table_args__ = (Index(None, "expires_at"),)

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    sealed: bytes = Field(sa_type=LargeBinary)
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


class ApiKeyTag(StoreModel, table=True):
    """The tag of one state of a key (``store/api_key_tags.py``). ``number`` tells two writers apart who write the same;
    ``pending_since`` is set until the key store has the key in this state."""

    __tablename__ = "api_key_tags"
    __table_args__ = (PrimaryKeyConstraint("key_id", "number"),)

    key_id: str = Field(sa_type=Name)
    number: bytes = Field(sa_type=LargeBinary)
    tag: bytes = Field(sa_type=LargeBinary)
    pending_since: int | None = Field(default=None, sa_type=BigInteger)
