"""Uses of IBCTs, the questions that were asked about credentials, the proofs that came of it, and the outbox of anchoring."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text, UniqueConstraint, text
from sqlmodel import Field

from identity_core.store.tables import Name, RowNumber, StoreModel

_ANCHOR_REVOKED = text("anchor_revoked_block IS NOT NULL")


class InvocationRow(StoreModel, table=True):
    """One use of an IBCT; see ``ports/proofs.py``. Nonce and id are there as their SHA-256.

    ``outcome`` is NULL while the proof is being made, under a ``lease`` (16 random bytes) that ends at ``lease_until``; then ``proved``
    with ``proof_id``, ``refused`` where the predicate does not hold, or the code of another refusal. ``details`` is the JSON of the anchor,
    of the details of a refused predicate, or of message and details of another refusal, as they were answered.
    """

    __tablename__ = "invocations"
    __table_args__ = (
        PrimaryKeyConstraint("invoker", "nonce_digest"),
        UniqueConstraint("invoker", "id_digest"),
        Index(None, "delete_after"),
    )

    invoker: str = Field(sa_type=Name)
    nonce_digest: bytes = Field(sa_type=LargeBinary)
    id_digest: bytes = Field(sa_type=LargeBinary)
    request_digest: bytes = Field(sa_type=LargeBinary)
    lease: bytes | None = Field(default=None, sa_type=LargeBinary)
    lease_until: int | None = Field(default=None, sa_type=BigInteger)
    outcome: str | None = Field(default=None, sa_type=Text)
    proof_id: str | None = Field(default=None, sa_type=Text)
    details: bytes | None = Field(default=None, sa_type=LargeBinary)
    delete_after: int = Field(sa_type=BigInteger)


class DisclosureRow(StoreModel, table=True):
    """A question that the asking agent chose, by the digest of type and value: what all agents together may learn is limited."""

    __tablename__ = "disclosures"
    __table_args__ = (PrimaryKeyConstraint("credential_id", "attribute", "digest"),)

    credential_id: str = Field(sa_type=Name)
    attribute: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    at: int = Field(sa_type=BigInteger)


class ProofRow(StoreModel, table=True):
    """One proof; see ``ports/proofs.py``. ``predicate``, ``proof`` and ``question`` are JSON; ``salt`` goes into its anchor's commitment.
    ``question`` is what was asked of several credentials together, or NULL."""

    __tablename__ = "proofs"
    __table_args__ = (
        Index(None, "holder", "created_at", "id"),
        # What retention looks along.
        Index(None, "expires_at"),
        Index(
            "ix_proofs_anchor_revoked",
            "anchor_revoked_block",
            "id",
            sqlite_where=_ANCHOR_REVOKED,
            postgresql_where=_ANCHOR_REVOKED,
        ),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    delegation_id: str = Field(sa_type=Name)
    holder: str = Field(sa_type=Name)
    agent: str = Field(sa_type=Name)
    credential_id: str = Field(sa_type=Name)
    issuer: str = Field(sa_type=Name)
    schema_id: str = Field(sa_type=Text)
    predicate: bytes = Field(sa_type=LargeBinary)
    proof: bytes = Field(sa_type=LargeBinary)
    salt: bytes = Field(sa_type=LargeBinary)
    ibct_id: str = Field(sa_type=Text)
    nonce: str = Field(sa_type=Text)
    created_at: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    caller: str = Field(sa_type=Text)
    challenge: str | None = Field(default=None, sa_type=Text)
    domain: str | None = Field(default=None, sa_type=Text)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_by: str | None = Field(default=None, sa_type=Text)
    revocation_reason: str | None = Field(default=None, sa_type=Text)
    anchor_status: str | None = Field(default=None, sa_type=Text)
    anchor_tx_hash: str | None = Field(default=None, sa_type=Text)
    anchor_block: int | None = Field(default=None, sa_type=BigInteger)
    anchor_revoked_block: int | None = Field(default=None, sa_type=BigInteger)
    anchor_details: bytes | None = Field(default=None, sa_type=LargeBinary)
    question: bytes | None = Field(default=None, sa_type=LargeBinary)


_OPEN = text("state IN ('sealed', 'submitted', 'mined')")
_QUEUED = text("state = 'queued'")
_REVOKING = text("state = 'revoking'")


class AnchorLeafRow(StoreModel, table=True):
    """The commitment to one proof; see ``plugins/anchoring`` for ``state``. In no batch while it is queued."""

    __tablename__ = "anchor_leaves"
    __table_args__ = (
        Index("ix_anchor_leaves_queued", "queued_at", "proof_id", sqlite_where=_QUEUED, postgresql_where=_QUEUED),
        Index("ix_anchor_leaves_revoking", "batch_id", "proof_id", sqlite_where=_REVOKING, postgresql_where=_REVOKING),
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
        Index("ix_anchor_batches_open", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
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
    """One row: the worker that may change batches, by its 16 bytes, until when."""

    __tablename__ = "anchor_lease"

    id: int = Field(sa_type=Integer, primary_key=True, sa_column_kwargs={"autoincrement": False})
    holder: bytes | None = Field(default=None, sa_type=LargeBinary)
    until: int = Field(sa_type=BigInteger)
