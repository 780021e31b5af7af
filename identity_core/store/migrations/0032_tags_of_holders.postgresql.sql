CREATE TABLE holder_tags (
    issuer TEXT COLLATE "C" NOT NULL,
    tag BYTEA NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT pk_holder_tags PRIMARY KEY (issuer, tag),
    CONSTRAINT uq_holder_tags_issuer_holder_number UNIQUE (issuer, holder, number)
);

ALTER TABLE credentials ADD COLUMN secret_replaced INTEGER;
