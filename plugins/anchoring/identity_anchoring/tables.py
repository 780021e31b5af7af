"""The tables of anchoring. A migration of the kernel creates them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, Text
from sqlmodel import Field

from identity_core.store.tables import Name, RowNumber, StoreModel, partial_index


class AnchorLeafRow(StoreModel, table=True):
    """The commitment to one proof; see ``plugins/anchoring`` for ``state``. In no batch while it is queued."""

    __tablename__ = "anchor_leaves"
    __table_args__ = (
        partial_index("ix_anchor_leaves_queued", "queued_at", "proof_id", where="state = 'queued'"),
        partial_index("ix_anchor_leaves_revoking", "batch_id", "proof_id", where="state = 'revoking'"),
        Index(None, "batch_id"),
    )

    proof_id: str = Field(sa_type=Name, primary_key=True)
    commitment: bytes = Field(sa_type=LargeBinary)
    queued_at: int = Field(sa_type=BigInteger)
    state: str = Field(sa_type=Text)
    batch_id: int | None = Field(default=None, sa_type=BigInteger)


class AnchorBatch(StoreModel, table=True):
    """One tree of commitments. ``checkpoint`` is the body of the checkpoint of the ledger's log that is its last leaf, with its path as
    ``checkpoint_details``; NULL where there is none."""

    __tablename__ = "anchor_batches"
    __table_args__ = (
        partial_index("ix_anchor_batches_open", "id", where="state IN ('sealed', 'submitted', 'mined')"),
        Index(None, "state", "block"),
    )

    id: int | None = Field(default=None, sa_type=RowNumber, primary_key=True)
    ledger: str = Field(sa_type=Name)
    root: bytes = Field(sa_type=LargeBinary)
    size: int = Field(sa_type=Integer)
    state: str = Field(sa_type=Text)
    tx_hash: str | None = Field(default=None, sa_type=Text)
    block: int | None = Field(default=None, sa_type=BigInteger)
    attempts: int = Field(sa_type=Integer)
    reason: str = Field(sa_type=Text)
    sealed_at: int = Field(sa_type=BigInteger)
    checkpoint: bytes | None = Field(default=None, sa_type=LargeBinary)
    checkpoint_details: bytes | None = Field(default=None, sa_type=LargeBinary)


class AnchorLease(StoreModel, table=True):
    """One row: the worker that may change batches, by its 16 bytes, and the end of its lease."""

    __tablename__ = "anchor_lease"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
    holder: bytes | None = Field(default=None, sa_type=LargeBinary)
    until: int = Field(sa_type=BigInteger)
