"""The code behind each operation: a folder a noun, in it a file a stage of life, one frozen dataclass an operation."""
