"""Revoked anchors by block, newest first: they are asked for again, in case that the ledger undid it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_revoked = sa.text("anchor_revoked_block IS NOT NULL")
    columns = ["anchor_revoked_block", "id"]
    op.create_index("ix_proofs_anchor_revoked", "proofs", columns, sqlite_where=is_revoked, postgresql_where=is_revoked)


def downgrade() -> None:
    op.drop_index("ix_proofs_anchor_revoked", "proofs")
