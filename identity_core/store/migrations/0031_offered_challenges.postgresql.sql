CREATE TABLE offered_challenges (
    digest BYTEA NOT NULL,
    scope BYTEA NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    number BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    offered_at BIGINT NOT NULL,
    used INTEGER NOT NULL,
    CONSTRAINT pk_offered_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_offered_challenges_expires_at ON offered_challenges (expires_at);

CREATE INDEX ix_offered_challenges_scope_address_used_offered_at ON offered_challenges (scope, address, used, offered_at);

CREATE INDEX ix_offered_challenges_scope_used_offered_at ON offered_challenges (scope, used, offered_at);
