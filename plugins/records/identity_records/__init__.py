"""Records of events for those whom they concern: audit log, timeline, verification history and statistics."""
