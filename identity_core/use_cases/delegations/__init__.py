"""Use cases of delegations: create, read, suspend, resume, revoke; revoking an IBCT."""
