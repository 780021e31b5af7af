-- Invocations, disclosures and proofs.

CREATE TABLE invocations (
    invoker TEXT NOT NULL,
    nonce_digest BLOB NOT NULL,
    id_digest BLOB NOT NULL,
    request_digest BLOB NOT NULL,
    lease BLOB,
    lease_until BIGINT,
    outcome TEXT,
    proof_id TEXT,
    details BLOB,
    delete_after BIGINT NOT NULL,
    CONSTRAINT pk_invocations PRIMARY KEY (invoker, nonce_digest),
    CONSTRAINT uq_invocations_invoker_id_digest UNIQUE (invoker, id_digest)
);

CREATE INDEX ix_invocations_delete_after ON invocations (delete_after);

CREATE TABLE disclosures (
    credential_id TEXT NOT NULL,
    attribute TEXT NOT NULL,
    digest BLOB NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_disclosures PRIMARY KEY (credential_id, attribute, digest)
);

CREATE TABLE proofs (
    id TEXT NOT NULL,
    delegation_id TEXT NOT NULL,
    holder TEXT NOT NULL,
    agent TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    issuer TEXT NOT NULL,
    schema_id TEXT NOT NULL,
    predicate BLOB NOT NULL,
    proof BLOB NOT NULL,
    salt BLOB NOT NULL,
    ibct_id TEXT NOT NULL,
    nonce TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    caller TEXT NOT NULL,
    challenge TEXT,
    domain TEXT,
    revoked_at BIGINT,
    revoked_by TEXT,
    revocation_reason TEXT,
    anchor_status TEXT,
    anchor_tx_hash TEXT,
    anchor_block BIGINT,
    anchor_revoked_block BIGINT,
    anchor_details BLOB,
    CONSTRAINT pk_proofs PRIMARY KEY (id)
);

CREATE INDEX ix_proofs_holder_created_at_id ON proofs (holder, created_at, id);

CREATE INDEX ix_proofs_agent_created_at_id ON proofs (agent, created_at, id);

CREATE INDEX ix_proofs_anchor_pending ON proofs (created_at, id) WHERE anchor_status = 'pending';
