"""Credentials in wallets of OpenID: what an offer grants, what a wallet proves, what its credential contains."""
