"""Credentials that wallets of OpenID collect and present."""
