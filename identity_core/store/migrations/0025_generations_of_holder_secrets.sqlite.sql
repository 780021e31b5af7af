CREATE TABLE holder_secrets (
    holder TEXT NOT NULL,
    generation BIGINT NOT NULL,
    rotated_at BIGINT NOT NULL,
    CONSTRAINT pk_holder_secrets PRIMARY KEY (holder)
);

ALTER TABLE credentials ADD COLUMN forgotten_at BIGINT;
