"""Protocols that plugins and the store implement. Settings choose an implementation, never an import."""
