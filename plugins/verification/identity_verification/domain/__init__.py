"""Checks, verdicts, and the expectation of a verifier."""
