CREATE TABLE records_labels (
    id TEXT NOT NULL,
    holder TEXT NOT NULL,
    sealed BLOB NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT pk_records_labels PRIMARY KEY (id)
);

CREATE INDEX ix_records_labels_holder ON records_labels (holder);
