"""The plugin's tables, one numbered SQL file a step."""
