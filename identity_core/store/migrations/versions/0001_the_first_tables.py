"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = ("audit_head", "audit_lines", "challenges", "did_versions", "idempotency_keys", "projections")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
RowNumber = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "did_versions",
        sa.Column("did", Name, nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("printed_second", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("transaction_hash", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("owner", Name, nullable=True),
        sa.PrimaryKeyConstraint("did", "version_id", name="pk_did_versions"),
    )
    op.create_index("ix_did_versions_did_printed_second", "did_versions", ["did", "printed_second"])
    op.create_index("ix_did_versions_sequence", "did_versions", ["sequence"], unique=True)
    owned = sa.text("owner IS NOT NULL")
    op.create_index(
        "ix_did_versions_owner_did", "did_versions", ["owner", "did"], sqlite_where=owned, postgresql_where=owned
    )
    op.create_table(
        "projections",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_projections"),
    )
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
    op.create_table(
        "idempotency_keys",
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.LargeBinary(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("key_hash", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_begun_at", "idempotency_keys", ["begun_at"])
    op.create_table(
        "audit_lines",
        sa.Column("sequence", RowNumber, autoincrement=False, nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.Column("link", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_audit_lines"),
    )
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_head"),
    )
    op.execute("INSERT INTO audit_head (id) VALUES (1)")


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
