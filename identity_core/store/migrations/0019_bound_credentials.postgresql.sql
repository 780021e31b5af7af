ALTER TABLE credentials ADD COLUMN bound_header BYTEA;

ALTER TABLE credentials ADD COLUMN commitment BYTEA;

ALTER TABLE credentials ADD COLUMN handle BIGINT;

ALTER TABLE credentials ADD COLUMN holder_secret TEXT;
