"""A DID: its identifier, keys, document, what may happen to it, and the log that anyone can verify."""
