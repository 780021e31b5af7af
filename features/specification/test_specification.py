"""Binds the features of the specification, so that they can run alone, against any server."""

from pytest_bdd import scenarios

scenarios(".")
