"""A DID: its identifier, keys, document and changes, and its verifiable log."""
