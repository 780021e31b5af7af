"""Driver of rate limits in Redis."""
