-- One row: the data key in a box, and what opens the box ("passphrase": Argon2id with these costs; "file": the master key).
CREATE TABLE custodian_seal (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt BLOB NOT NULL,
    operations INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    box BLOB NOT NULL
) STRICT;

-- The box of a key is bound to every other column of its row.
CREATE TABLE custodian_keys (
    name TEXT NOT NULL PRIMARY KEY,
    key_type TEXT NOT NULL,
    did TEXT NOT NULL,
    purpose TEXT NOT NULL,
    public_key TEXT NOT NULL,
    box BLOB NOT NULL
) STRICT, WITHOUT ROWID;
