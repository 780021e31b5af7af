"""Uses of IBCTs, questions about credentials, and the resulting proofs."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, PrimaryKeyConstraint, Text, UniqueConstraint
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel, partial_index


class InvocationRow(StoreModel, table=True):
    """One use of an IBCT; see ``ports/proofs.py``. Nonce and id are stored as their SHA-256.

    ``outcome`` is NULL while the proof is being made, under a ``lease`` (16 random bytes) that ends at ``lease_until``. Then it is
    ``proved`` with ``proof_id``, ``refused`` if the predicate is not satisfied, or the code of another refusal. ``details`` is the JSON
    of the anchor, of the details of a refused predicate, or of message and details of another refusal, as in the answer.
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
    """A question that an agent chose, by the digest of type and value. The number for all agents together is limited."""

    __tablename__ = "disclosures"
    __table_args__ = (PrimaryKeyConstraint("credential_id", "attribute", "digest"),)

    credential_id: str = Field(sa_type=Name)
    attribute: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    at: int = Field(sa_type=BigInteger)


class ProofRow(StoreModel, table=True):
    """One proof; see ``ports/proofs.py``. ``predicate``, ``proof`` and ``question`` are JSON; ``salt`` is part of its anchor's
    commitment. ``question`` is the question about several credentials together, or NULL."""

    __tablename__ = "proofs"
    __table_args__ = (
        Index(None, "holder", "created_at", "id"),
        # The index that retention scans.
        Index(None, "expires_at"),
        partial_index(
            "ix_proofs_anchor_revoked", "anchor_revoked_block", "id", where="anchor_revoked_block IS NOT NULL"
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
