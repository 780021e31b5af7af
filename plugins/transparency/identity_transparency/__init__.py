"""The ledger as a transparency log: checkpoints, proofs, witnesses, the feed of events, and approvals of did:webvh logs."""
