"""The ledger's tables, one numbered SQL file a step."""
