"""Logs of DIDs: entries, their chain, and the keys that sign them."""
