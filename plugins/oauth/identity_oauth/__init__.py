"""OAuth: the service issues access tokens to clients, and a holder lets a client read in her name (RFC 6749, RFC 9068)."""
