"""Pages for people: what this service is, anybody's look-ups, and a holder's view of what was done in her name."""
