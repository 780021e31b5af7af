"""Alembic migrations of the store. ``HEAD`` is the newest one; a test compares it with the files."""

HEAD = "0013"
