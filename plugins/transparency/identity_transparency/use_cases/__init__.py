"""Entries, proofs and events of the log; witnesses of the log and of DIDs."""
