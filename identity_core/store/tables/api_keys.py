"""Which API keys of the key store this service wrote."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary, PrimaryKeyConstraint
from sqlmodel import Field

from identity_core.store.tables.model import Name, StoreModel


class ApiKeyTag(StoreModel, table=True):
    """The tag of one state of a key (``store/api_key_tags.py``). ``number`` tells two writers apart who write the same;
    ``pending_since`` is set until the key store has the key in this state."""

    __tablename__ = "api_key_tags"
    __table_args__ = (PrimaryKeyConstraint("key_id", "number"),)

    key_id: str = Field(sa_type=Name)
    number: bytes = Field(sa_type=LargeBinary)
    tag: bytes = Field(sa_type=LargeBinary)
    pending_since: int | None = Field(default=None, sa_type=BigInteger)
