"""The transparency log: tiles, the head of the tree, and where transactions are."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "transparency_tiles",
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hashes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "number", name="pk_transparency_tiles"),
    )
    op.create_table(
        "transparency_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("peaks", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_transparency_head"),
    )
    op.create_table(
        "transparency_places",
        sa.Column("prefix", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("prefix", "sequence", name="pk_transparency_places"),
        sqlite_with_rowid=False,
    )
    head = sa.table("transparency_head", sa.column("id"), sa.column("size"), sa.column("peaks"))
    op.bulk_insert(head, [{"id": 1, "size": 0, "peaks": b""}])


def downgrade() -> None:
    for table in ("transparency_places", "transparency_head", "transparency_tiles"):
        op.drop_table(table)
