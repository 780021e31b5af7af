"""The code behind each operation: a folder a noun, a file a verb, one frozen dataclass with one ``__call__``."""
