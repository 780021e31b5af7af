-- The outbox of anchoring: leaves, batches, and the lease of the worker.

CREATE TABLE anchor_leaves (
    proof_id TEXT COLLATE "C" NOT NULL,
    commitment BYTEA NOT NULL,
    queued_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    batch_id BIGINT,
    CONSTRAINT pk_anchor_leaves PRIMARY KEY (proof_id)
);

CREATE INDEX ix_anchor_leaves_queued ON anchor_leaves (queued_at, proof_id) WHERE state = 'queued';

CREATE INDEX ix_anchor_leaves_revoking ON anchor_leaves (batch_id, proof_id) WHERE state = 'revoking';

CREATE INDEX ix_anchor_leaves_batch_id ON anchor_leaves (batch_id);

CREATE TABLE anchor_batches (
    id BIGSERIAL NOT NULL,
    ledger TEXT COLLATE "C" NOT NULL,
    root BYTEA NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL,
    tx_hash TEXT,
    block BIGINT,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    sealed_at BIGINT NOT NULL,
    checkpoint BYTEA,
    checkpoint_details BYTEA,
    CONSTRAINT pk_anchor_batches PRIMARY KEY (id)
);

CREATE INDEX ix_anchor_batches_open ON anchor_batches (id) WHERE state IN ('sealed', 'submitted', 'mined');

CREATE INDEX ix_anchor_batches_state_block ON anchor_batches (state, block);

CREATE TABLE anchor_lease (
    id INTEGER NOT NULL,
    holder BYTEA,
    until BIGINT NOT NULL,
    CONSTRAINT pk_anchor_lease PRIMARY KEY (id)
);

INSERT INTO anchor_lease (id, until) VALUES (1, 0);

DROP INDEX ix_proofs_anchor_pending;
