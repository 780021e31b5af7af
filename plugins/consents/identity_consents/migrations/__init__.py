"""The migrations of the tables that this extension creates itself."""
