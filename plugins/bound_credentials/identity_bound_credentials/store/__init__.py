"""The rows of suite 2 in the database of the service."""
