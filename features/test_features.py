"""Binds every feature file."""

from pytest_bdd import scenarios

scenarios("credentials", "delegations", "dids", "auth", "api_keys", "events", "ledger", "proofs", "service")
