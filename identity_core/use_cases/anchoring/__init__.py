"""Putting commitments to proofs on a ledger: in batches, by one worker at a time, until it has them."""
