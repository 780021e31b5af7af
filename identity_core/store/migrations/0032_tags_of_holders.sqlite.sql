CREATE TABLE holder_tags (
    issuer TEXT NOT NULL,
    tag BLOB NOT NULL,
    holder TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_holder_tags PRIMARY KEY (issuer, tag),
    CONSTRAINT uq_holder_tags_issuer_holder_number UNIQUE (issuer, holder, number)
);

ALTER TABLE credentials ADD COLUMN secret_replaced INTEGER;
