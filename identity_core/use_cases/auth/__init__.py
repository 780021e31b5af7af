"""Authentication of callers: challenges, signatures and access tokens."""
