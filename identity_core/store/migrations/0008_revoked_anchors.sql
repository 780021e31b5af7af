-- Revoked anchors by block, newest first: they are asked for again, in case that the ledger undid it.

CREATE INDEX ix_proofs_anchor_revoked ON proofs (anchor_revoked_block, id) WHERE anchor_revoked_block IS NOT NULL;
