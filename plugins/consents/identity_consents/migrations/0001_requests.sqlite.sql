CREATE TABLE consents_requests (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    sealed BLOB NOT NULL,
    result BLOB,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_consents_requests PRIMARY KEY (id)
);

CREATE INDEX ix_consents_requests_owner_created_at ON consents_requests (owner, created_at);

CREATE INDEX ix_consents_requests_expires_at ON consents_requests (expires_at);
