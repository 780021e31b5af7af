CREATE TABLE records_labels (
    id TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_records_labels PRIMARY KEY (id)
);

CREATE INDEX ix_records_labels_holder ON records_labels (holder);
