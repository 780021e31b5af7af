"""Steps of migrations that an installation has yet to make: told without a change, and made without a start."""

from __future__ import annotations

import tempfile
from pathlib import Path

from identity_core.bootstrap.ports import SystemClock, load_plugins
from identity_core.bootstrap.read_only import looking_plugins, looking_store
from identity_core.bootstrap.storage import told_at_start
from identity_core.database import DatabaseAbsent, MigrationPending
from identity_core.plugin.build import LookOnly
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.settings import Settings
from identity_core.store import Store


async def pending_steps(settings: Settings) -> tuple[str, ...]:
    """For each database that is of an older version, its first step that did not run. Nothing is changed. Raises ``StartError``, also for a
    database that a newer version has written."""
    with told_at_start(settings), tempfile.TemporaryDirectory() as scratch:
        look = LookOnly(Path(scratch))
        plugins = looking_plugins(settings, look)
        try:
            store = await looking_store(settings, _databases(plugins, settings))
        except MigrationPending as error:
            return (*look.pending, str(error))
        except DatabaseAbsent:
            return tuple(look.pending)
        finally:
            await plugins.close()
        await store.close()
        return tuple(look.pending)


async def bring_up(settings: Settings) -> None:
    """Makes them, each database in one transaction; what was done before a kill is not done again. Raises ``StartError``."""
    with told_at_start(settings):
        plugins = load_plugins(settings, SystemClock())
        try:
            _databases(plugins, settings)
            await Store.open(settings.data_dir, settings.database_url).close()
        finally:
            await plugins.close()


def _databases(plugins: PluginManager, settings: Settings) -> Custodian:
    """Opens those of plugins; a plugin compares or makes its steps when it is built."""
    plugins.ledger(settings.ledger.backend)
    plugins.key_stores(settings.key_stores)
    custodian, *_ = map(plugins.custodian, settings.custodian.names)
    return custodian
