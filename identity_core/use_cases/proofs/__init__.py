"""What is done with proofs, one file a verb."""
