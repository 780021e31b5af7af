-- Tags that say which API keys of the key store were written by this service, and are as they were written last.

CREATE TABLE api_key_tags (
    key_id TEXT NOT NULL,
    number BLOB NOT NULL,
    tag BLOB NOT NULL,
    pending_since BIGINT,
    CONSTRAINT pk_api_key_tags PRIMARY KEY (key_id, number)
);
