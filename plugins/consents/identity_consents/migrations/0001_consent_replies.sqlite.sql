-- The kernel's step 0027 has made the table of an installation that this extension has not been removed from.
CREATE TABLE IF NOT EXISTS consent_replies (
    digest BLOB NOT NULL,
    sealed BLOB NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_consent_replies PRIMARY KEY (digest)
);

CREATE INDEX IF NOT EXISTS ix_consent_replies_expires_at ON consent_replies (expires_at);
