"""Credentials that are bound to a secret of their holder (suite 2): issuing, signed gaps, and proofs with several of them."""
