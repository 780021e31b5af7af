"""What the dashboard shows, one file a verb."""
