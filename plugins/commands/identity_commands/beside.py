"""The store of an installation, opened beside its running service."""

from __future__ import annotations

from contextlib import AsyncExitStack

from identity_core.bootstrap.ports import SystemClock, convert_storage_faults, load_plugins, open_store
from identity_core.database import refuse_upgrades
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.settings import Settings
from identity_core.store import Store


async def store_beside(settings: Settings, stack: AsyncExitStack) -> tuple[PluginManager, Custodian, Store]:
    """Open the plugins, their custodian and the store beside a running service; ``stack`` closes them.

    Raises ``StartError``: also for databases of an older version, which only a start or ``identity upgrade apply``
    upgrades.
    """
    refuse_upgrades()
    plugins = load_plugins(settings, SystemClock())
    stack.push_async_callback(plugins.close)
    with convert_storage_faults(settings):
        custodian = plugins.custodian(settings.custodian.backend)
        store = await open_store(plugins, custodian, processes=max(settings.server.workers, 2))
    plugins.database = store.database
    stack.push_async_callback(store.close)
    return plugins, custodian, store
