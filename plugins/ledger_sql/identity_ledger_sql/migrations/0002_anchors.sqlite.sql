-- One row an anchored root or a revoked leaf, never changed and never deleted. recorded_at: microseconds since 1970, UTC.
-- size: the leaves of the root, 0 for a revocation. link chains the rows, and each to the newest entry of its moment.
CREATE TABLE ledger_anchors (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('anchor', 'revocation')),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    size INTEGER NOT NULL,
    transaction_hash BLOB NOT NULL,
    block_number INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    link BLOB NOT NULL,
    UNIQUE (kind, digest)
) STRICT;

CREATE TRIGGER ledger_anchors_are_final BEFORE UPDATE ON ledger_anchors
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER ledger_anchors_stay BEFORE DELETE ON ledger_anchors
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
