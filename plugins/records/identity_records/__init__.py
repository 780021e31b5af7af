"""Records of events for the parties that they concern: audit log, timeline, verification history and statistics."""
