-- Invocations, disclosures and proofs.

CREATE TABLE invocations (
    invoker TEXT COLLATE "C" NOT NULL,
    nonce_digest BYTEA NOT NULL,
    id_digest BYTEA NOT NULL,
    request_digest BYTEA NOT NULL,
    lease BYTEA,
    lease_until BIGINT,
    outcome TEXT,
    proof_id TEXT,
    details BYTEA,
    delete_after BIGINT NOT NULL,
    CONSTRAINT pk_invocations PRIMARY KEY (invoker, nonce_digest),
    CONSTRAINT uq_invocations_invoker_id_digest UNIQUE (invoker, id_digest)
);

CREATE INDEX ix_invocations_delete_after ON invocations (delete_after);

CREATE TABLE disclosures (
    credential_id TEXT COLLATE "C" NOT NULL,
    attribute TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_disclosures PRIMARY KEY (credential_id, attribute, digest)
);

CREATE TABLE proofs (
    id TEXT COLLATE "C" NOT NULL,
    delegation_id TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    credential_id TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    schema_id TEXT NOT NULL,
    predicate BYTEA NOT NULL,
    proof BYTEA NOT NULL,
    salt BYTEA NOT NULL,
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
    anchor_details BYTEA,
    CONSTRAINT pk_proofs PRIMARY KEY (id)
);

CREATE INDEX ix_proofs_holder_created_at_id ON proofs (holder, created_at, id);

CREATE INDEX ix_proofs_agent_created_at_id ON proofs (agent, created_at, id);

CREATE INDEX ix_proofs_anchor_pending ON proofs (created_at, id) WHERE anchor_status = 'pending';
