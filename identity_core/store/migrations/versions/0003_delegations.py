"""Delegations, their thresholds, and revoked IBCTs."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = ("ibct_revocations", "delegation_thresholds", "delegations")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    _create_delegations()
    op.create_table(
        "delegation_thresholds",
        sa.Column("delegation_id", Name, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("delegation_id", "digest", name="pk_delegation_thresholds"),
    )
    op.create_table(
        "ibct_revocations",
        sa.Column("invoker", Name, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("keep_until", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("invoker", "kind", "digest", name="pk_ibct_revocations"),
    )
    op.create_index("ix_ibct_revocations_keep_until", "ibct_revocations", ["keep_until"])


def _create_delegations() -> None:
    op.create_table(
        "delegations",
        sa.Column("id", Name, nullable=False),
        sa.Column("holder", Name, nullable=False),
        sa.Column("agent", Name, nullable=False),
        sa.Column("grantor", Name, nullable=False),
        sa.Column("parent_id", Name, nullable=True),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("max_uses", sa.BigInteger(), nullable=True),
        sa.Column("uses", sa.BigInteger(), nullable=False),
        sa.Column("max_refusals", sa.BigInteger(), nullable=True),
        sa.Column("refusals", sa.BigInteger(), nullable=False),
        sa.Column("max_thresholds", sa.BigInteger(), nullable=True),
        sa.Column("suspended_reason", sa.Text(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.Column("revocation_reason", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delegations"),
    )
    op.create_index("ix_delegations_holder_created_at_id", "delegations", ["holder", "created_at", "id"])
    op.create_index("ix_delegations_agent_created_at_id", "delegations", ["agent", "created_at", "id"])
    op.create_index("ix_delegations_created_at_id", "delegations", ["created_at", "id"])


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
