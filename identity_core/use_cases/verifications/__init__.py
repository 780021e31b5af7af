"""What is done with verifications, one file a verb."""
