-- Challenges are stateless: only spent ones are kept. Those that live at the upgrade end, and their holders ask again.
--
-- And what each DID and each address has written, for the quotas.

DROP TABLE challenges;

CREATE TABLE spent_challenges (
    digest BYTEA NOT NULL,
    saying BYTEA NOT NULL,
    number BIGINT,
    expires_at BIGINT NOT NULL,
    CONSTRAINT pk_spent_challenges PRIMARY KEY (digest)
);

CREATE INDEX ix_spent_challenges_saying_number ON spent_challenges (saying, number);

CREATE INDEX ix_spent_challenges_expires_at ON spent_challenges (expires_at);

CREATE TABLE usage (
    owner TEXT COLLATE "C" NOT NULL,
    day BIGINT NOT NULL,
    records BIGINT NOT NULL,
    octets BIGINT NOT NULL,
    CONSTRAINT pk_usage PRIMARY KEY (owner, day)
);

CREATE INDEX ix_usage_day ON usage (day);
