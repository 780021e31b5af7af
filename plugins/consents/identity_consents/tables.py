"""The tables of requests and replies. A step of the kernel makes that of the replies."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


class ConsentReplyRow(StoreModel, table=True):
    """A holder's answer to an agent, sealed and stored until the agent fetches it."""

    __tablename__ = "consent_replies"
    __table_args__ = (Index(None, "expires_at"),)

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    sealed: bytes = Field(sa_type=LargeBinary)
    expires_at: int = Field(sa_type=BigInteger)


class RequestRow(StoreModel, table=True):
    """A request that waits for an answer, sealed; see ``store.py``. A step of this extension makes the table."""

    __tablename__ = "consents_requests"
    __table_args__ = (
        Index(None, "owner", "created_at"),
        Index(None, "expires_at"),
        {"info": {"steps": "consents_migrations"}},
    )

    id: str = Field(sa_type=Name, primary_key=True)
    kind: str = Field(sa_type=Name)
    owner: str = Field(sa_type=Name)
    agent: str = Field(sa_type=Name)
    sealed: bytes = Field(sa_type=LargeBinary)
    result: bytes | None = Field(default=None, sa_type=LargeBinary)
    created_at: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
