CREATE TABLE consent_replies (
    digest BLOB NOT NULL,
    sealed BLOB NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_consent_replies PRIMARY KEY (digest)
);

CREATE INDEX ix_consent_replies_expires_at ON consent_replies (expires_at);
