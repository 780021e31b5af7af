-- One row an entry, never changed and never deleted. recorded_at: microseconds since 1970, UTC. Hashes: 32 raw octets.
-- link chains every row to the one before it; a block is the rows of one commit and is named by the link of its last row.
CREATE TABLE ledger_entries (
    sequence BIGINT PRIMARY KEY,
    did TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    entry BYTEA NOT NULL,
    transaction_hash BYTEA NOT NULL,
    block_number BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    link BYTEA NOT NULL,
    UNIQUE (did, version)
);

-- The one row that every writer locks before it reads the head: the queue of the replicas.
CREATE TABLE ledger_head (id INTEGER PRIMARY KEY CHECK (id = 1));

INSERT INTO ledger_head (id) VALUES (1);

CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation'; END $$;

CREATE TRIGGER ledger_entries_are_final BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
