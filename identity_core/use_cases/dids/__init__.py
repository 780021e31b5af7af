"""Use cases of DIDs, and the only call path for reads and writes of DIDs."""
