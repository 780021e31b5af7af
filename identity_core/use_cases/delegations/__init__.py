"""What is done with delegations: create, read, suspend, resume, revoke; revoking an IBCT."""
