"""Invocations, disclosures and proofs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = ("disclosures", "invocations", "proofs")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "invocations",
        sa.Column("invoker", Name, nullable=False),
        sa.Column("nonce_digest", sa.LargeBinary(), nullable=False),
        sa.Column("id_digest", sa.LargeBinary(), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("lease", sa.LargeBinary(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("proof_id", sa.Text(), nullable=True),
        sa.Column("details", sa.LargeBinary(), nullable=True),
        sa.Column("delete_after", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("invoker", "nonce_digest", name="pk_invocations"),
        sa.UniqueConstraint("invoker", "id_digest", name="uq_invocations_invoker_id_digest"),
    )
    op.create_index("ix_invocations_delete_after", "invocations", ["delete_after"])
    op.create_table(
        "disclosures",
        sa.Column("credential_id", Name, nullable=False),
        sa.Column("attribute", Name, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("credential_id", "attribute", "digest", name="pk_disclosures"),
    )
    _create_proofs()


def _create_proofs() -> None:
    op.create_table(
        "proofs",
        sa.Column("id", Name, nullable=False),
        sa.Column("delegation_id", Name, nullable=False),
        sa.Column("holder", Name, nullable=False),
        sa.Column("agent", Name, nullable=False),
        sa.Column("credential_id", Name, nullable=False),
        sa.Column("issuer", Name, nullable=False),
        sa.Column("schema_id", sa.Text(), nullable=False),
        sa.Column("predicate", sa.LargeBinary(), nullable=False),
        sa.Column("proof", sa.LargeBinary(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("ibct_id", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("challenge", sa.Text(), nullable=True),
        sa.Column("domain", sa.Text(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.Column("revocation_reason", sa.Text(), nullable=True),
        sa.Column("anchor_status", sa.Text(), nullable=True),
        sa.Column("anchor_tx_hash", sa.Text(), nullable=True),
        sa.Column("anchor_block", sa.BigInteger(), nullable=True),
        sa.Column("anchor_revoked_block", sa.BigInteger(), nullable=True),
        sa.Column("anchor_details", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_proofs"),
    )
    op.create_index("ix_proofs_holder_created_at_id", "proofs", ["holder", "created_at", "id"])
    op.create_index("ix_proofs_agent_created_at_id", "proofs", ["agent", "created_at", "id"])
    pending = sa.text("anchor_status = 'pending'")
    op.create_index(
        "ix_proofs_anchor_pending", "proofs", ["created_at", "id"], sqlite_where=pending, postgresql_where=pending
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
