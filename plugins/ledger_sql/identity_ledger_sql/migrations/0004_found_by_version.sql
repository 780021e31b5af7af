-- An entry is found by its DID and version. An index on hashes had each append change one more page at random.
DROP INDEX ledger_entries_transaction_hash;
