"""Commands on the log, on the feed of events, and on approvals of DIDs' logs."""
