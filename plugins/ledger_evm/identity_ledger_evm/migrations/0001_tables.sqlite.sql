-- Times: microseconds since 1970, UTC. Hashes and digests: 32 raw octets. Fees: wei.

-- Whose index this is, up to which block it was read, and how many entries there are up to it.
CREATE TABLE evm_cursor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    chain_id INTEGER NOT NULL,
    contract TEXT NOT NULL,
    block_number INTEGER NOT NULL,
    block_hash BLOB NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;

-- The one process that talks to the chain for all that share this database.
CREATE TABLE evm_lease (id INTEGER PRIMARY KEY CHECK (id = 1), holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT;

INSERT INTO evm_lease (id, holder, until) VALUES (1, '', 0);

-- The index: what the contract has recorded, filled from its confirmed events and from nothing else.
CREATE TABLE evm_entries (
    sequence INTEGER PRIMARY KEY,
    did TEXT NOT NULL,
    version INTEGER NOT NULL,
    entry BLOB NOT NULL,
    transaction_hash BLOB NOT NULL,
    block_number INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    UNIQUE (did, version)
) STRICT;

-- What we want in a block: one row a nonce, written before anything is sent.
CREATE TABLE evm_transactions (
    id INTEGER PRIMARY KEY,
    nonce INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('append', 'anchor', 'revocation', 'filler')),
    data BLOB NOT NULL,
    gas INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'mined', 'confirmed', 'failed')),
    signed_in INTEGER NOT NULL,
    hash BLOB,
    block_number INTEGER,
    block_hash BLOB,
    reason TEXT NOT NULL
) STRICT;

CREATE INDEX evm_transactions_open ON evm_transactions (nonce) WHERE state IN ('submitted', 'mined');

CREATE INDEX evm_transactions_block ON evm_transactions (block_number);

-- Every signature that was ever given to a transaction; any one of them may be the one that is mined.
CREATE TABLE evm_attempts (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    transaction_id INTEGER NOT NULL REFERENCES evm_transactions (id),
    nonce INTEGER NOT NULL,
    raw BLOB NOT NULL,
    most INTEGER NOT NULL,
    tip INTEGER NOT NULL
) STRICT;

CREATE INDEX evm_attempts_transaction ON evm_attempts (transaction_id);

-- Appends that somebody waits for, until deadline. found: the version that refused it; sequence: where it was recorded.
CREATE TABLE evm_appends (
    id INTEGER PRIMARY KEY,
    did TEXT NOT NULL,
    expected INTEGER NOT NULL,
    entry BLOB NOT NULL,
    deadline INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'recorded', 'refused', 'failed')),
    transaction_id INTEGER REFERENCES evm_transactions (id),
    found INTEGER,
    sequence INTEGER,
    reason TEXT NOT NULL
) STRICT;

CREATE INDEX evm_appends_state ON evm_appends (state, id);

CREATE INDEX evm_appends_transaction ON evm_appends (transaction_id);

-- Roots and revoked leaves.
CREATE TABLE evm_anchors (
    kind TEXT NOT NULL CHECK (kind IN ('anchor', 'revocation')),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'confirmed', 'failed')),
    transaction_id INTEGER REFERENCES evm_transactions (id),
    hash BLOB,
    block_number INTEGER,
    reason TEXT NOT NULL,
    PRIMARY KEY (kind, digest)
) STRICT;

CREATE INDEX evm_anchors_waiting ON evm_anchors (number) WHERE state = 'waiting';

CREATE INDEX evm_anchors_block ON evm_anchors (block_number);

CREATE INDEX evm_anchors_transaction ON evm_anchors (transaction_id);
