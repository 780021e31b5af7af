"""The transparency log over every ledger: tree, tiles, proofs, checkpoints, and what strangers check with them.

Pure rules of RFC 6962 and the C2SP formats (signed-note, tlog-checkpoint, tlog-tiles, tlog-proof, tlog-cosignature);
README.md says what a leaf is. Storage and HTTP are other rooms'.
"""
