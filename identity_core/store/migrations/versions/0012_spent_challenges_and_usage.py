"""Challenges are stateless: only spent ones are kept. Those that live at the upgrade end, and their holders ask again.

And what each DID and each address has written, for the quotas.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.drop_table("challenges")
    op.create_table(
        "spent_challenges",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("saying", sa.LargeBinary(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_spent_challenges"),
    )
    op.create_index("ix_spent_challenges_saying_number", "spent_challenges", ["saying", "number"])
    op.create_index("ix_spent_challenges_expires_at", "spent_challenges", ["expires_at"])
    op.create_table(
        "usage",
        sa.Column("owner", Name, nullable=False),
        sa.Column("day", sa.BigInteger(), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.Column("octets", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "day", name="pk_usage"),
    )
    op.create_index("ix_usage_day", "usage", ["day"])


def downgrade() -> None:
    op.drop_table("usage")
    op.drop_table("spent_challenges")
    op.create_table(
        "challenges",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("did", Name, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_challenges"),
    )
    live = sa.text("spent = 0")
    op.create_index(
        "ix_challenges_did_body_hash_purpose",
        "challenges",
        ["did", "body_hash", "purpose"],
        sqlite_where=live,
        postgresql_where=live,
    )
    op.create_index("ix_challenges_expires_at", "challenges", ["expires_at"])
