"""The stores of the unit tests, for the tests of this extension."""

from __future__ import annotations

from tests.unit.store.conftest import new_stored_database, postgres_server, store, url

__all__ = ["new_stored_database", "postgres_server", "store", "url"]
