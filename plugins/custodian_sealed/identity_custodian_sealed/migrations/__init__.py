"""The tables, by numbered SQL files."""
