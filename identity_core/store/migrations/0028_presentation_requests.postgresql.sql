CREATE TABLE presentation_requests (
    digest BYTEA NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    request BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    answer BYTEA,
    CONSTRAINT pk_presentation_requests PRIMARY KEY (digest)
);

CREATE INDEX ix_presentation_requests_expires_at ON presentation_requests (expires_at);

CREATE INDEX ix_presentation_requests_owner_expires_at ON presentation_requests (owner, expires_at);
