"""The records of a store under the rules of the kernel's tables."""

from __future__ import annotations

from identity_operations.retention import StoredRecords

from identity_core.store import Store
from identity_core.store.retention import RULES


def stored(store: Store) -> StoredRecords:
    return StoredRecords(store.database, RULES)
