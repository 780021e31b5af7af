-- The first tables.

CREATE TABLE did_versions (
    did TEXT NOT NULL,
    version_id BIGINT NOT NULL,
    printed_second BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    block_number BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    transaction_hash BLOB NOT NULL,
    state BLOB NOT NULL,
    document BLOB NOT NULL,
    changes BLOB NOT NULL,
    key_id TEXT,
    owner TEXT,
    CONSTRAINT pk_did_versions PRIMARY KEY (did, version_id)
);

CREATE INDEX ix_did_versions_did_printed_second ON did_versions (did, printed_second);

CREATE UNIQUE INDEX ix_did_versions_sequence ON did_versions (sequence);

CREATE INDEX ix_did_versions_owner_did ON did_versions (owner, did) WHERE owner IS NOT NULL;

CREATE TABLE projections (
    name TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT pk_projections PRIMARY KEY (name)
);

CREATE TABLE challenges (
    digest BLOB NOT NULL,
    did TEXT NOT NULL,
    origin TEXT NOT NULL,
    purpose TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    text TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent INTEGER NOT NULL,
    CONSTRAINT pk_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_challenges_did_body_hash_purpose ON challenges (did, body_hash, purpose) WHERE spent = 0;

CREATE INDEX ix_challenges_expires_at ON challenges (expires_at);

CREATE TABLE idempotency_keys (
    key_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    status INTEGER,
    headers BLOB,
    body BLOB,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (key_hash)
);

CREATE INDEX ix_idempotency_keys_begun_at ON idempotency_keys (begun_at);

CREATE TABLE audit_lines (
    sequence INTEGER NOT NULL,
    line BLOB NOT NULL,
    link BLOB NOT NULL,
    CONSTRAINT pk_audit_lines PRIMARY KEY (sequence)
);

CREATE TABLE audit_head (
    id INTEGER NOT NULL,
    CONSTRAINT pk_audit_head PRIMARY KEY (id)
);

INSERT INTO audit_head (id) VALUES (1);
