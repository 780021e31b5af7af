CREATE TABLE consents_requests (
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    result BYTEA,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_consents_requests PRIMARY KEY (id)
);

CREATE INDEX ix_consents_requests_owner_created_at ON consents_requests (owner, created_at);

CREATE INDEX ix_consents_requests_expires_at ON consents_requests (expires_at);
