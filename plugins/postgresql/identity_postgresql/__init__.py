"""Driver of databases and rate limits on PostgreSQL."""
