"""Commands on the log and the feed of events."""
