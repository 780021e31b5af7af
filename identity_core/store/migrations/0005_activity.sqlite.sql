-- The timeline, the verifications, and the challenges of verifiers.

CREATE TABLE timeline (
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT,
    actor TEXT,
    holder TEXT,
    agent TEXT,
    issuer TEXT,
    delegation_id TEXT,
    credential_id TEXT,
    proof_id TEXT,
    CONSTRAINT pk_timeline PRIMARY KEY (id)
);

CREATE INDEX ix_timeline_holder_id ON timeline (holder, id);

CREATE INDEX ix_timeline_agent_id ON timeline (agent, id);

CREATE INDEX ix_timeline_issuer_id ON timeline (issuer, id);

CREATE TABLE verifications (
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    verified INTEGER NOT NULL,
    caller TEXT NOT NULL,
    verifier TEXT,
    fingerprint TEXT,
    holder TEXT,
    issuer TEXT,
    schema_id TEXT,
    proof_id TEXT,
    attribute TEXT,
    predicate_type TEXT,
    codes BLOB NOT NULL,
    CONSTRAINT pk_verifications PRIMARY KEY (id)
);

CREATE INDEX ix_verifications_caller_id ON verifications (caller, id);

CREATE INDEX ix_verifications_verifier_id ON verifications (verifier, id);

CREATE INDEX ix_verifications_holder_id ON verifications (holder, id);

CREATE TABLE verifier_challenges (
    digest BLOB NOT NULL,
    owner TEXT NOT NULL,
    domain TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent INTEGER NOT NULL,
    CONSTRAINT pk_verifier_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_verifier_challenges_expires_at ON verifier_challenges (expires_at);

CREATE INDEX ix_verifier_challenges_owner_expires_at ON verifier_challenges (owner, expires_at);
