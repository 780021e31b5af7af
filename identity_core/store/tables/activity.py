"""What happened and what was verified, and the challenges that verifiers hand out."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


class TimelineEvent(StoreModel, table=True):
    """One event; see ``ports/timeline.py``. The id begins with the time in microseconds, so that it is the order too."""

    __tablename__ = "timeline"
    __table_args__ = (
        Index(None, "holder", "id"),
        Index(None, "agent", "id"),
        Index(None, "issuer", "id"),
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
    """One verification by somebody known; see ``ports/verifications.py``. ``codes`` is a JSON array. No value stands here."""

    __tablename__ = "verifications"
    __table_args__ = (
        Index(None, "caller", "id"),
        Index(None, "verifier", "id"),
        Index(None, "holder", "id"),
    )

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
