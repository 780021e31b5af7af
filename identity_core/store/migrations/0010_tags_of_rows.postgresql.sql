-- Tags that say which rows of the index and which head of the audit log are ours, and the DIDs that are withheld.

ALTER TABLE did_versions ADD COLUMN mac BYTEA;

CREATE INDEX ix_did_versions_without_mac ON did_versions (did) WHERE mac IS NULL;

ALTER TABLE projections ADD COLUMN mac BYTEA;

ALTER TABLE audit_head ADD COLUMN sequence BIGINT;

ALTER TABLE audit_head ADD COLUMN link BYTEA;

ALTER TABLE audit_head ADD COLUMN keyed_from BIGINT;

ALTER TABLE audit_head ADD COLUMN mac BYTEA;

CREATE TABLE quarantined_dids (
    did TEXT COLLATE "C" NOT NULL,
    reason TEXT NOT NULL,
    since BIGINT NOT NULL,
    CONSTRAINT pk_quarantined_dids PRIMARY KEY (did)
);
