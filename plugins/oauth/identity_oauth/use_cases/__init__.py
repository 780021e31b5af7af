"""Tokens that are issued and authenticated, the keys that sign them, and the code flow."""
