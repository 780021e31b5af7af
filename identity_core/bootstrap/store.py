"""The store, opened by a command beside a running service."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_core.bootstrap.own_keys import rows_secret
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import AuditLog
from identity_core.settings import Settings
from identity_core.store import Store


async def store_beside(settings: Settings, custodian: Custodian) -> Store:
    """The store, for one process more than the service has: there are at least two that write. Raises ``DatabaseUnavailable``,
    ``MigrationFailed``."""
    secret = await rows_secret(custodian)
    processes = max(settings.server.workers, 2)
    return Store.open(settings.data_dir, settings.database_url, processes=processes, secret=secret)


@contextlib.asynccontextmanager
async def audit_log(settings: Settings) -> AsyncIterator[AuditLog]:
    """The audit log beside a running service, and nothing else."""
    store = store_beside(settings)
    try:
        yield store.audit
    finally:
        await store.close()
