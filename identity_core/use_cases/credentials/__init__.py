"""What is done with credentials: one verb a file."""
