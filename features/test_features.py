"""Binds every feature file."""

from pytest_bdd import scenarios

scenarios("dids", "auth", "api_keys", "events", "service")
