"""Tags that say which rows of the index and which head of the audit log are ours, and the DIDs that are withheld."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("did_versions", sa.Column("mac", sa.LargeBinary(), nullable=True))
    op.create_index(
        "ix_did_versions_without_mac",
        "did_versions",
        ["did"],
        sqlite_where=sa.text("mac IS NULL"),
        postgresql_where=sa.text("mac IS NULL"),
    )
    op.add_column("projections", sa.Column("mac", sa.LargeBinary(), nullable=True))
    op.add_column("audit_head", sa.Column("sequence", sa.BigInteger(), nullable=True))
    op.add_column("audit_head", sa.Column("link", sa.LargeBinary(), nullable=True))
    op.add_column("audit_head", sa.Column("keyed_from", sa.BigInteger(), nullable=True))
    op.add_column("audit_head", sa.Column("mac", sa.LargeBinary(), nullable=True))
    op.create_table(
        "quarantined_dids",
        sa.Column("did", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("did", name="pk_quarantined_dids"),
    )


def downgrade() -> None:
    op.drop_table("quarantined_dids")
    for column in ("mac", "keyed_from", "link", "sequence"):
        op.drop_column("audit_head", column)
    op.drop_column("projections", "mac")
    op.drop_index("ix_did_versions_without_mac", "did_versions")
    op.drop_column("did_versions", "mac")
