"""The store of an installation, opened beside its running service."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from identity_core.bootstrap.ports import SystemClock, convert_storage_faults, load_plugins, open_store
from identity_core.database import refuse_upgrades
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.settings import Settings
from identity_core.store import Store


@contextlib.asynccontextmanager
async def store_beside(settings: Settings) -> AsyncIterator[tuple[PluginManager, Custodian, Store]]:
    """Open the plugins, their custodian and the store beside a running service.

    Raises ``StartError``: also for databases of an older version, which only a start or ``identity upgrade apply``
    upgrades.
    """
    refuse_upgrades()
    async with AsyncExitStack() as stack:
        plugins = load_plugins(settings, SystemClock())
        stack.push_async_callback(plugins.close)
        with convert_storage_faults(settings):
            custodian = plugins.custodian(settings.custodian.backend)
            store = await open_store(plugins, custodian, processes=max(settings.server.workers, 2))
        plugins.database = store.database
        stack.push_async_callback(store.close)
        yield plugins, custodian, store
