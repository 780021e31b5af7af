"""What can be done to a DID, and the one way to read and to write it."""
