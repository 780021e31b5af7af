"""The timeline, the verifications, and the challenges of verifiers."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = ("timeline", "verifications", "verifier_challenges")

# Compared octet by octet everywhere, whatever the server's locale.
Name = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "timeline",
        sa.Column("id", Name, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("holder", Name, nullable=True),
        sa.Column("agent", Name, nullable=True),
        sa.Column("issuer", Name, nullable=True),
        sa.Column("delegation_id", sa.Text(), nullable=True),
        sa.Column("credential_id", sa.Text(), nullable=True),
        sa.Column("proof_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_timeline"),
    )
    for column in ("holder", "agent", "issuer"):
        op.create_index(f"ix_timeline_{column}_id", "timeline", [column, "id"])
    op.create_table(
        "verifications",
        sa.Column("id", Name, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verified", sa.Integer(), nullable=False),
        sa.Column("caller", Name, nullable=False),
        sa.Column("verifier", Name, nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("holder", Name, nullable=True),
        sa.Column("issuer", Name, nullable=True),
        sa.Column("schema_id", sa.Text(), nullable=True),
        sa.Column("proof_id", sa.Text(), nullable=True),
        sa.Column("attribute", sa.Text(), nullable=True),
        sa.Column("predicate_type", sa.Text(), nullable=True),
        sa.Column("codes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verifications"),
    )
    for column in ("caller", "verifier", "holder"):
        op.create_index(f"ix_verifications_{column}_id", "verifications", [column, "id"])
    op.create_table(
        "verifier_challenges",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("owner", Name, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_verifier_challenges"),
    )
    op.create_index("ix_verifier_challenges_expires_at", "verifier_challenges", ["expires_at"])
    op.create_index("ix_verifier_challenges_owner_expires_at", "verifier_challenges", ["owner", "expires_at"])


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
