"""The steps of the tables that this extension makes itself."""
