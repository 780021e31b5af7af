"""What is done with delegations: one verb a file."""
