CREATE TABLE cosigned_checkpoints (
    size BIGINT NOT NULL,
    cosigned_at BIGINT NOT NULL,
    note BLOB NOT NULL,
    CONSTRAINT pk_cosigned_checkpoints PRIMARY KEY (size)
);
