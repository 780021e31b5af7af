-- Extensions that are off until they are enabled. An installation that served them before keeps them on; a new one has no audit lines yet.
CREATE TABLE kept_extensions (
    name TEXT NOT NULL,
    CONSTRAINT pk_kept_extensions PRIMARY KEY (name)
);

INSERT INTO kept_extensions (name) SELECT 'agents' FROM (SELECT 1 FROM audit_lines LIMIT 1) AS used;

INSERT INTO kept_extensions (name) SELECT 'vcalm' FROM (SELECT 1 FROM audit_lines LIMIT 1) AS used;

INSERT INTO kept_extensions (name) SELECT 'wallets' FROM (SELECT 1 FROM audit_lines LIMIT 1) AS used;
