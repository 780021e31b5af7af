"""Signatures, keys and boxes: thin functions on bytes over libsodium and the curve backends. Imports no other room."""
