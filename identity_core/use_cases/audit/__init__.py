"""What is done with the audit log, one file a verb."""
