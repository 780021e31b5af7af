"""The public feed of changes."""
