"""The tables of the store, one numbered SQL file a step."""
