"""The name that the transparency log began with: it outlives a change of port or public URL."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("transparency_head", sa.Column("origin", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("transparency_head", "origin")
