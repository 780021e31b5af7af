"""Use cases of credentials: schemas, issue, import, read, status, verify (README.md)."""
