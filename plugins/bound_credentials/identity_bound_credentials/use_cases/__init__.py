"""The use cases of the operations and jobs of suite 2."""
