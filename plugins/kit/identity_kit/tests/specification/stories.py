"""The stories of this folder as tests. ``identity conformance`` runs this file."""

from pytest_bdd import scenarios

scenarios(".")
