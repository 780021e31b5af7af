"""What callers may read of the records."""
