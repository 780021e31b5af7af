-- The timeline, the verifications, and the challenges of verifiers.

CREATE TABLE timeline (
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT,
    actor TEXT,
    holder TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    issuer TEXT COLLATE "C",
    delegation_id TEXT,
    credential_id TEXT,
    proof_id TEXT,
    CONSTRAINT pk_timeline PRIMARY KEY (id)
);

CREATE INDEX ix_timeline_holder_id ON timeline (holder, id);

CREATE INDEX ix_timeline_agent_id ON timeline (agent, id);

CREATE INDEX ix_timeline_issuer_id ON timeline (issuer, id);

CREATE TABLE verifications (
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    verified INTEGER NOT NULL,
    caller TEXT COLLATE "C" NOT NULL,
    verifier TEXT COLLATE "C",
    fingerprint TEXT,
    holder TEXT COLLATE "C",
    issuer TEXT COLLATE "C",
    schema_id TEXT,
    proof_id TEXT,
    attribute TEXT,
    predicate_type TEXT,
    codes BYTEA NOT NULL,
    CONSTRAINT pk_verifications PRIMARY KEY (id)
);

CREATE INDEX ix_verifications_caller_id ON verifications (caller, id);

CREATE INDEX ix_verifications_verifier_id ON verifications (verifier, id);

CREATE INDEX ix_verifications_holder_id ON verifications (holder, id);

CREATE TABLE verifier_challenges (
    digest BYTEA NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    domain TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent INTEGER NOT NULL,
    CONSTRAINT pk_verifier_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_verifier_challenges_expires_at ON verifier_challenges (expires_at);

CREATE INDEX ix_verifier_challenges_owner_expires_at ON verifier_challenges (owner, expires_at);
