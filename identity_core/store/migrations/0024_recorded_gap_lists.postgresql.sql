CREATE TABLE gap_records (
    list_id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT pk_gap_records PRIMARY KEY (list_id, digest)
);
