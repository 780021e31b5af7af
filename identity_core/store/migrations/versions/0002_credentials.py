"""Credentials: schemas, credentials, status lists."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("credential_schemas", "credentials", "status_lists")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "credential_schemas",
        sa.Column("id", Name, nullable=False),
        sa.Column("attributes", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_credential_schemas"),
    )
    op.create_table(
        "credentials",
        sa.Column("id", Name, nullable=False),
        sa.Column("issuer", Name, nullable=False),
        sa.Column("holder", Name, nullable=False),
        sa.Column("schema_id", Name, nullable=False),
        sa.Column("verification_method", sa.Text(), nullable=False),
        sa.Column("issuer_public_key", sa.LargeBinary(), nullable=False),
        sa.Column("valid_from", sa.BigInteger(), nullable=False),
        sa.Column("valid_until", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("status_index", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_credentials"),
        sa.UniqueConstraint("issuer", "status_index", name="uq_credentials_issuer_status_index"),
    )
    for party in ("holder", "issuer"):
        op.create_index(f"ix_credentials_{party}_created_at_id", "credentials", [party, "created_at", "id"])
    not_active = sa.text("status <> 'active'")
    op.create_index(
        "ix_credentials_not_active",
        "credentials",
        ["issuer", "status", "status_index"],
        sqlite_where=not_active,
        postgresql_where=not_active,
    )
    op.create_table(
        "status_lists",
        sa.Column("id", Name, nullable=False),
        sa.Column("issuer", Name, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("issued", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_status_lists"),
        sa.UniqueConstraint("issuer", "number", name="uq_status_lists_issuer_number"),
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
