"""The table of consent replies. A step of the kernel makes it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary
from sqlmodel import Field

from identity_core.store.tables import StoreModel


class ConsentReplyRow(StoreModel, table=True):
    """A holder's answer to an agent, sealed and stored until the agent fetches it."""

    __tablename__ = "consent_replies"
    __table_args__ = (Index(None, "expires_at"),)

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    sealed: bytes = Field(sa_type=LargeBinary)
    expires_at: int = Field(sa_type=BigInteger)
