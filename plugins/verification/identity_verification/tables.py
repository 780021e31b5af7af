"""The table of the challenges of verifiers. A migration of the kernel creates it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel


class VerifierChallengeRow(StoreModel, table=True):
    """A challenge that a verifier obtained for its domain, by the SHA-256 of its text; ``spent`` once it was used."""

    __tablename__ = "verifier_challenges"
    __table_args__ = (Index(None, "spent", "expires_at"), Index(None, "owner", "expires_at"))

    digest: bytes = Field(sa_type=LargeBinary, primary_key=True)
    owner: str = Field(sa_type=Name)
    domain: str = Field(sa_type=Text)
    expires_at: int = Field(sa_type=BigInteger)
    spent: int = Field(default=0, sa_type=Integer)
