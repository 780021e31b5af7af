-- Spent challenges of verifiers stay, so those that go are found by both.

CREATE INDEX ix_verifier_challenges_spent_expires_at ON verifier_challenges (spent, expires_at);

DROP INDEX ix_verifier_challenges_expires_at;
