-- SQLite keys a table by its INTEGER PRIMARY KEY, and changes no key of a table: it is written anew, in the order of the ledger.
-- A place that is no number is not of this service; what is missing then is made again from the ledger.

CREATE TABLE did_versions_by_sequence (
    did TEXT NOT NULL,
    version_id BIGINT NOT NULL,
    printed_second BIGINT NOT NULL,
    sequence INTEGER NOT NULL,
    block_number BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    transaction_hash BLOB NOT NULL,
    state BLOB NOT NULL,
    document BLOB NOT NULL,
    changes BLOB NOT NULL,
    key_id TEXT,
    owner TEXT,
    mac BLOB,
    CONSTRAINT pk_did_versions PRIMARY KEY (sequence)
);

INSERT INTO did_versions_by_sequence (did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state,
    document, changes, key_id, owner, mac)
SELECT did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state,
    document, changes, key_id, owner, mac
FROM did_versions WHERE typeof(sequence) = 'integer' ORDER BY sequence;

DROP TABLE did_versions;

ALTER TABLE did_versions_by_sequence RENAME TO did_versions;

CREATE UNIQUE INDEX ix_did_versions_did_version_id ON did_versions (did, version_id);

CREATE INDEX ix_did_versions_owner_did ON did_versions (owner, did) WHERE owner IS NOT NULL;

CREATE INDEX ix_did_versions_without_mac ON did_versions (did) WHERE mac IS NULL;
