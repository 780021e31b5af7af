"""Use cases of credentials and a store on each database, for the tests of this extension."""

from __future__ import annotations

from tests.unit.conftest import tmp_path
from tests.unit.store.conftest import new_stored_database, postgres_server, store, url
from tests.unit.use_cases.credentials.conftest import office, store_files

__all__ = ["new_stored_database", "office", "postgres_server", "store", "store_files", "tmp_path", "url"]
