"""The outbox of anchoring: leaves, batches, and the lease of the worker."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = ("anchor_lease", "anchor_batches", "anchor_leaves")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
RowNumber = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "anchor_leaves",
        sa.Column("proof_id", Name, nullable=False),
        sa.Column("commitment", sa.LargeBinary(), nullable=False),
        sa.Column("queued_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("batch_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("proof_id", name="pk_anchor_leaves"),
    )
    queued, revoking = sa.text("state = 'queued'"), sa.text("state = 'revoking'")
    _partial("ix_anchor_leaves_queued", "anchor_leaves", ["queued_at", "proof_id"], queued)
    _partial("ix_anchor_leaves_revoking", "anchor_leaves", ["batch_id", "proof_id"], revoking)
    op.create_index("ix_anchor_leaves_batch_id", "anchor_leaves", ["batch_id"])
    op.create_table(
        "anchor_batches",
        sa.Column("id", RowNumber, nullable=False),
        sa.Column("ledger", Name, nullable=False),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tx_hash", sa.Text(), nullable=True),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("sealed_at", sa.BigInteger(), nullable=False),
        sa.Column("checkpoint", sa.LargeBinary(), nullable=True),
        sa.Column("checkpoint_details", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_anchor_batches"),
    )
    _partial("ix_anchor_batches_open", "anchor_batches", ["id"], sa.text("state IN ('sealed', 'submitted', 'mined')"))
    op.create_index("ix_anchor_batches_state_block", "anchor_batches", ["state", "block"])
    op.create_table(
        "anchor_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.LargeBinary(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_anchor_lease"),
    )
    lease = sa.table("anchor_lease", sa.column("id"), sa.column("until"))
    op.bulk_insert(lease, [{"id": 1, "until": 0}])
    # What is pending is found in the outbox; this cost every change of a receipt.
    op.drop_index("ix_proofs_anchor_pending", "proofs")


def _partial(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    _partial("ix_proofs_anchor_pending", "proofs", ["created_at", "id"], sa.text("anchor_status = 'pending'"))
    for table in TABLES:
        op.drop_table(table)
