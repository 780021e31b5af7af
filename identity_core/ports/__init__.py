"""Protocols only: what plugins and the store promise. An implementation is chosen by settings, never by import."""
