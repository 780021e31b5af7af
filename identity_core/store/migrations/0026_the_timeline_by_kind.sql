-- A page of one kind costs the same however many rows of other kinds there are. Issuers see what is about credentials alone, so
-- theirs begins with the kind as well.

CREATE INDEX ix_timeline_kind_id ON timeline (kind, id);

CREATE INDEX ix_timeline_holder_kind_id ON timeline (holder, kind, id);

CREATE INDEX ix_timeline_agent_kind_id ON timeline (agent, kind, id);

CREATE INDEX ix_timeline_issuer_kind_id ON timeline (issuer, kind, id);

DROP INDEX IF EXISTS ix_timeline_issuer_id;
