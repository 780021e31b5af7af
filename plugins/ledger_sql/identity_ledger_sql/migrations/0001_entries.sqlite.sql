-- One row an entry, never changed and never deleted. recorded_at: microseconds since 1970, UTC. Hashes: 32 raw octets.
-- link chains every row to the one before it; a block is the rows of one commit and is named by the link of its last row.
CREATE TABLE ledger_entries (
    sequence INTEGER PRIMARY KEY,
    did TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    entry BLOB NOT NULL,
    transaction_hash BLOB NOT NULL,
    block_number INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    link BLOB NOT NULL,
    UNIQUE (did, version)
) STRICT;

CREATE TRIGGER ledger_entries_are_final BEFORE UPDATE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER ledger_entries_stay BEFORE DELETE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
