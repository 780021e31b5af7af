"""Several server processes: their parent, and rate limits that processes and replicas share."""
