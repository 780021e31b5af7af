-- The key is the place on the ledger; a DID and a version name one row, as before.

CREATE UNIQUE INDEX ix_did_versions_did_version_id ON did_versions (did, version_id);

ALTER TABLE did_versions DROP CONSTRAINT pk_did_versions;

ALTER TABLE did_versions ADD CONSTRAINT pk_did_versions PRIMARY KEY USING INDEX ix_did_versions_sequence;
