"""The stores of the unit tests and the people of the attack tests, for the tests of this extension."""

from __future__ import annotations

from tests.attack.conftest import target, targets, tmp_path
from tests.attack.delegated.conftest import people, peoples, scene
from tests.unit.store.conftest import new_stored_database, postgres_server, store, url

__all__ = ["new_stored_database", "people", "peoples", "postgres_server"]
__all__ += ["scene", "store", "target", "targets", "tmp_path", "url"]
