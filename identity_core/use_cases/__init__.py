"""Use cases: a folder for each resource, in it a file for each stage of its life cycle, and a frozen dataclass for each operation."""
