ALTER TABLE credentials ADD COLUMN bound_header BLOB;

ALTER TABLE credentials ADD COLUMN commitment BLOB;

ALTER TABLE credentials ADD COLUMN handle BIGINT;

ALTER TABLE credentials ADD COLUMN holder_secret TEXT;
