"""Encodings, keys and signatures that the service and its clients share. Imports nothing of the service."""
