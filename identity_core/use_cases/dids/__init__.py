"""Use cases of DIDs, and the one way to read and to write them."""
