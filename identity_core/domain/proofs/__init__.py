"""Zero-knowledge proofs of a predicate: what is asked, proved, verified and kept."""
