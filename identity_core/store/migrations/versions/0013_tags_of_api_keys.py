"""Tags that say which API keys of the key store were written by this service, and are as they were written last."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "api_key_tags",
        sa.Column("key_id", Name, nullable=False),
        sa.Column("number", sa.LargeBinary(), nullable=False),
        sa.Column("tag", sa.LargeBinary(), nullable=False),
        sa.Column("pending_since", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("key_id", "number", name="pk_api_key_tags"),
    )


def downgrade() -> None:
    op.drop_table("api_key_tags")
