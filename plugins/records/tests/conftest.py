"""The commands, a service for them and a store on each database, for the tests of this extension."""

from __future__ import annotations

from tests.unit.cli.conftest import here, identity, remote, server, wallet
from tests.unit.store.conftest import new_stored_database, postgres_server, store, url

__all__ = ["here", "identity", "new_stored_database", "postgres_server", "remote", "server", "store", "url", "wallet"]
