"""What is done with credentials: schemas, issue, import, read, status, verify (README.md)."""
