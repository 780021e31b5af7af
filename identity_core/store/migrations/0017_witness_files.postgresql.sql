CREATE TABLE witness_files (
    did TEXT COLLATE "C" NOT NULL,
    versions BIGINT NOT NULL,
    log_octets BIGINT NOT NULL,
    octets BYTEA NOT NULL,
    CONSTRAINT pk_witness_files PRIMARY KEY (did)
);
