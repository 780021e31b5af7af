"""Conformance classes and templates for authors of plugins."""
