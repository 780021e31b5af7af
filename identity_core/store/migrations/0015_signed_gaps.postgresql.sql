CREATE TABLE gap_editions (
    list_id TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    edition BIGINT NOT NULL,
    version BIGINT NOT NULL,
    manifest BYTEA NOT NULL,
    CONSTRAINT pk_gap_editions PRIMARY KEY (list_id, epoch)
);

CREATE TABLE gap_handles (
    list_id TEXT COLLATE "C" NOT NULL,
    handle BIGINT NOT NULL,
    credential_id TEXT COLLATE "C" NOT NULL,
    last_day BIGINT NOT NULL,
    listed INTEGER NOT NULL,
    CONSTRAINT pk_gap_handles PRIMARY KEY (list_id, handle),
    CONSTRAINT uq_gap_handles_credential_id UNIQUE (credential_id)
);

CREATE INDEX ix_gap_handles_listed ON gap_handles (list_id, last_day) WHERE listed = 1;

CREATE TABLE gap_lists (
    id TEXT COLLATE "C" NOT NULL,
    issuer TEXT COLLATE "C" NOT NULL,
    method TEXT NOT NULL,
    period BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT pk_gap_lists PRIMARY KEY (id)
);

CREATE TABLE gap_shards (
    list_id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    octets BYTEA NOT NULL,
    CONSTRAINT pk_gap_shards PRIMARY KEY (list_id, digest)
);

CREATE INDEX ix_gap_shards_list_id_epoch ON gap_shards (list_id, epoch);
