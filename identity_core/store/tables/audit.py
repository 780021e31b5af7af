"""The audit log."""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, LargeBinary
from sqlmodel import Field

from identity_core.store.tables.model import RowNumber, StoreModel


class AuditLine(StoreModel, table=True):
    """One line of the audit log: its JSON as it was hashed, and the hash that chains it to the line before."""

    __tablename__ = "audit_lines"

    sequence: int = Field(sa_type=RowNumber, primary_key=True, sa_column_kwargs={"autoincrement": False})
    line: bytes = Field(sa_type=LargeBinary)
    link: bytes = Field(sa_type=LargeBinary)


class AuditHead(StoreModel, table=True):
    """The one row that says how far the chain reaches, which a writer on PostgreSQL locks before it reads.

    ``mac`` is the tag of the other three; ``keyed_from`` is the first line that was written since there is one. All are None before the
    first such line.
    """

    __tablename__ = "audit_head"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
    sequence: int | None = Field(default=None, sa_type=BigInteger)
    link: bytes | None = Field(default=None, sa_type=LargeBinary)
    keyed_from: int | None = Field(default=None, sa_type=BigInteger)
    mac: bytes | None = Field(default=None, sa_type=LargeBinary)
