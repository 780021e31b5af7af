"""Zero-knowledge proofs of predicates: questions, proofs, verification and records."""
