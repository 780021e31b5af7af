-- Credentials: schemas, credentials, status lists.

CREATE TABLE credential_schemas (
    id TEXT COLLATE "C" NOT NULL,
    attributes BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    CONSTRAINT pk_credential_schemas PRIMARY KEY (id)
);

CREATE TABLE credentials (
    id TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    schema_id TEXT COLLATE "C" NOT NULL,
    verification_method TEXT NOT NULL,
    issuer_public_key BYTEA NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_until BIGINT,
    status TEXT NOT NULL,
    status_reason TEXT,
    status_index BIGINT NOT NULL,
    version INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    CONSTRAINT pk_credentials PRIMARY KEY (id),
    CONSTRAINT uq_credentials_issuer_status_index UNIQUE (issuer, status_index)
);

CREATE INDEX ix_credentials_holder_created_at_id ON credentials (holder, created_at, id);

CREATE INDEX ix_credentials_issuer_created_at_id ON credentials (issuer, created_at, id);

CREATE INDEX ix_credentials_not_active ON credentials (issuer, status, status_index) WHERE status <> 'active';

CREATE TABLE status_lists (
    id TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    issued BIGINT NOT NULL,
    version BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    CONSTRAINT pk_status_lists PRIMARY KEY (id),
    CONSTRAINT uq_status_lists_issuer_number UNIQUE (issuer, number)
);
