DROP INDEX IF EXISTS ix_proofs_agent_created_at_id;
