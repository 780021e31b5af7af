"""Commitments to proofs on a ledger: in batches, by one worker at a time, until the ledger has them."""
