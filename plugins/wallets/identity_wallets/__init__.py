"""Wallets of OpenID: they collect copies of credentials (OpenID4VCI) and present them to verifiers (OpenID4VP)."""
