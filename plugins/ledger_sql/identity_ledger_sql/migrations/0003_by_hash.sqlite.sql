-- A transaction is looked up by its hash: by whoever asks for it, and after a commit whose outcome is unknown.
CREATE UNIQUE INDEX ledger_entries_transaction_hash ON ledger_entries (transaction_hash);
