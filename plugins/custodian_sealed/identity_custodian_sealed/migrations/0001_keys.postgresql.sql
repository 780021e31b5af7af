-- One row: the data key in a box, and what opens the box ("passphrase": Argon2id with these costs; "file": the master key).
CREATE TABLE custodian_seal (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt BYTEA NOT NULL,
    operations BIGINT NOT NULL,
    memory_bytes BIGINT NOT NULL,
    box BYTEA NOT NULL
);

-- The box of a key is bound to every other column of its row.
CREATE TABLE custodian_keys (
    name TEXT NOT NULL PRIMARY KEY,
    key_type TEXT NOT NULL,
    did TEXT NOT NULL,
    purpose TEXT NOT NULL,
    public_key TEXT NOT NULL,
    box BYTEA NOT NULL
);
