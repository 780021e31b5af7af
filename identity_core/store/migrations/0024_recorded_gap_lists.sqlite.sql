CREATE TABLE gap_records (
    list_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    epoch BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT pk_gap_records PRIMARY KEY (list_id, digest)
);
