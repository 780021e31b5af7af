-- Processes that serve: when each was last there (seconds since 1970), the box of the offered seal that it has answered, and whether it
-- opens it.
CREATE TABLE custodian_processes (
    id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    number INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    answered BLOB,
    opens INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The seal that a rotation is about to store, while it asks the processes whether they open it.
CREATE TABLE custodian_offer (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    kind TEXT NOT NULL CHECK (kind IN ('passphrase', 'file')),
    salt BLOB NOT NULL,
    operations INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    box BLOB NOT NULL,
    generation INTEGER NOT NULL
) STRICT;
