"""The stores of the unit tests and the people of the attack tests, for the tests of this extension."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from identity_core.database import migrate
from identity_core.store import Store
from tests.attack.conftest import target, targets, tmp_path
from tests.attack.delegated.conftest import people, peoples, scene
from tests.unit.store.conftest import new_stored_database, postgres_server, store, url

__all__ = ["new_stored_database", "people", "peoples", "postgres_server"]
__all__ += ["migrated", "scene", "store", "target", "targets", "tmp_path", "url"]


@pytest.fixture(autouse=True)
def migrated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Store]:
    """Return the function that opens a store, as a service does: with the tables of this extension. ``Store.open`` is replaced by it."""
    opened = Store.open

    def open_migrated(*given: object, **more: object) -> Store:
        store = opened(*given, **more)  # type: ignore[arg-type]
        if not store.database.read_only:
            migrate(store.database, "identity_consents.migrations", "consents_")
        return store

    monkeypatch.setattr(Store, "open", open_migrated)
    return open_migrated
