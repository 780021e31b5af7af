"""The ledger as the public sees it: transactions, blocks, and the transparency log over them."""
