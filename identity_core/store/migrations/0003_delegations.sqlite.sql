-- Delegations, their thresholds, and revoked IBCTs.

CREATE TABLE delegations (
    id TEXT NOT NULL,
    holder TEXT NOT NULL,
    agent TEXT NOT NULL,
    grantor TEXT NOT NULL,
    parent_id TEXT,
    record BLOB NOT NULL,
    not_before BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    max_uses BIGINT,
    uses BIGINT NOT NULL,
    max_refusals BIGINT,
    refusals BIGINT NOT NULL,
    max_thresholds BIGINT,
    suspended_reason TEXT,
    revoked_at BIGINT,
    revoked_by TEXT,
    revocation_reason TEXT,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    CONSTRAINT pk_delegations PRIMARY KEY (id)
);

CREATE INDEX ix_delegations_holder_created_at_id ON delegations (holder, created_at, id);

CREATE INDEX ix_delegations_agent_created_at_id ON delegations (agent, created_at, id);

CREATE INDEX ix_delegations_created_at_id ON delegations (created_at, id);

CREATE TABLE delegation_thresholds (
    delegation_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    CONSTRAINT pk_delegation_thresholds PRIMARY KEY (delegation_id, digest)
);

CREATE TABLE ibct_revocations (
    invoker TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,
    keep_until BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL,
    CONSTRAINT pk_ibct_revocations PRIMARY KEY (invoker, kind, digest)
);

CREATE INDEX ix_ibct_revocations_keep_until ON ibct_revocations (keep_until);
