"""Spent challenges of verifiers stay, so those that go are found by both."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_verifier_challenges_spent_expires_at", "verifier_challenges", ["spent", "expires_at"])
    op.drop_index("ix_verifier_challenges_expires_at", "verifier_challenges")


def downgrade() -> None:
    op.create_index("ix_verifier_challenges_expires_at", "verifier_challenges", ["expires_at"])
    op.drop_index("ix_verifier_challenges_spent_expires_at", "verifier_challenges")
