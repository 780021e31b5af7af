"""The tables of the records. Migrations of the kernel create them, except that of the nicknames."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlmodel import Field

from identity_core.store.tables import Name, RowNumber, StoreModel


class AuditLine(StoreModel, table=True):
    """One line of the audit log: its JSON as it was hashed, and the hash that chains it to the line before."""

    __tablename__ = "audit_lines"

    sequence: int = Field(sa_type=RowNumber, primary_key=True, sa_column_kwargs={"autoincrement": False})
    line: bytes = Field(sa_type=LargeBinary)
    link: bytes = Field(sa_type=LargeBinary)


class AuditHead(StoreModel, table=True):
    """The one row with the end of the chain. A writer on PostgreSQL locks it before it reads.

    ``mac`` is the tag of the other three, and ``keyed_from`` is the first line that was written with one. All are None before that
    line. ``cut_sequence`` and ``cut_link`` are those of the last expired line, and ``cut_mac`` is their tag.
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


class TimelineEvent(StoreModel, table=True):
    """One event; see ``queries.py``. The id begins with the time in microseconds, so it also gives the order."""

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
    """One verification by an authenticated caller; see ``queries.py``. ``codes`` is a JSON array. It contains no value."""

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


class LabelTable(StoreModel, table=True):
    """A nickname, sealed; see ``labels.py``. A step of this extension makes the table, when the extension is opened."""

    __tablename__ = "records_labels"
    __table_args__ = ({"info": {"steps": "records_migrations"}},)

    id: str = Field(sa_type=Name, primary_key=True)
    holder: str = Field(sa_type=Name, index=True)
    sealed: bytes = Field(sa_type=LargeBinary)
    updated_at: int = Field(sa_type=BigInteger)
