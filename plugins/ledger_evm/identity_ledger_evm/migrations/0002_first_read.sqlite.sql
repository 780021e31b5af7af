-- Whether the chain was read to its end once; until then the index has the beginning of the ledger alone.
ALTER TABLE evm_cursor ADD COLUMN is_read INTEGER NOT NULL DEFAULT 1;

UPDATE evm_cursor SET is_read = 0 WHERE length(block_hash) = 0;
