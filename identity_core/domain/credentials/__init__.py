"""Credentials: typed attributes, schemas, the signed form and its status."""
