CREATE TABLE witness_files (
    did TEXT NOT NULL,
    versions BIGINT NOT NULL,
    log_octets BIGINT NOT NULL,
    octets BLOB NOT NULL,
    CONSTRAINT pk_witness_files PRIMARY KEY (did)
);
