"""Tools for the authors of the project. Not part of any distribution."""
