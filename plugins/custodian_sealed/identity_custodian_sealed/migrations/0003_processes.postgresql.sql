-- Processes that serve: when each was last there (seconds since 1970 by this server's clock), the box of the offered seal that it has
-- answered, and whether it opens it.
CREATE TABLE custodian_processes (
    id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    number BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    answered BYTEA,
    opens BIGINT NOT NULL DEFAULT 0
);

-- The seal that a rotation is about to store, while it asks the processes whether they open it.
CREATE TABLE custodian_offer (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt BYTEA NOT NULL,
    operations BIGINT NOT NULL,
    memory_bytes BIGINT NOT NULL,
    box BYTEA NOT NULL,
    generation BIGINT NOT NULL
);
