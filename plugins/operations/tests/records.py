"""The records of a store under the rules of the kernel's tables and of the extension ``records``."""

from __future__ import annotations

from identity_operations.retention import StoredRecords
from identity_records.extension import TIMELINE, VERIFICATIONS

from identity_core.store import Store
from identity_core.store.proofs import RULES


def stored(store: Store) -> StoredRecords:
    return StoredRecords(store.database, [*RULES, TIMELINE, VERIFICATIONS])
