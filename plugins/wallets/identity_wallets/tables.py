"""The table of presentation requests. A step of the kernel makes it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


class PresentationRequestRow(StoreModel, table=True):
    """A request of a verifier to a wallet, by the SHA-256 of its id; ``answer`` is NULL until the wallet answered. Both are
    sealed."""

    __tablename__ = "presentation_requests"
    __table_args__ = (Index(None, "expires_at"), Index(None, "owner", "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    owner: str = Field(sa_type=Name)
    request: bytes = Field(sa_type=LargeBinary)
    expires_at: int = Field(sa_type=BigInteger)
    answer: bytes | None = Field(default=None, sa_type=LargeBinary)
