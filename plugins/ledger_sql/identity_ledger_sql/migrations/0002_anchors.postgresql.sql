-- One row an anchored root or a revoked leaf, never changed and never deleted. recorded_at: microseconds since 1970, UTC.
-- size: the leaves of the root, 0 for a revocation. link chains the rows, and each to the newest entry of its moment.
CREATE TABLE ledger_anchors (
    position BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('anchor', 'revocation')),
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    size BIGINT NOT NULL,
    transaction_hash BYTEA NOT NULL,
    block_number BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    link BYTEA NOT NULL,
    UNIQUE (kind, digest)
);

CREATE TRIGGER ledger_anchors_are_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_anchors
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
