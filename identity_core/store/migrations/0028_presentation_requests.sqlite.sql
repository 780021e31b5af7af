CREATE TABLE presentation_requests (
    digest BLOB NOT NULL,
    owner TEXT NOT NULL,
    request BLOB NOT NULL,
    expires_at BIGINT NOT NULL,
    answer BLOB,
    CONSTRAINT pk_presentation_requests PRIMARY KEY (digest)
);

CREATE INDEX ix_presentation_requests_expires_at ON presentation_requests (expires_at);

CREATE INDEX ix_presentation_requests_owner_expires_at ON presentation_requests (owner, expires_at);
