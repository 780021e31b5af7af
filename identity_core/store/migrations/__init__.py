"""The numbered SQL files that make the store's tables, in order. A file that was released never changes."""
