DROP INDEX IF EXISTS ix_did_versions_did_printed_second;
