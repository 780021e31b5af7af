"""Migrations that an installation lacks, run without a start."""

from __future__ import annotations

from identity_transparency.read_only import open_plugin_databases

from identity_core.bootstrap.ports import SystemClock, convert_storage_faults, load_plugins
from identity_core.database import migrate
from identity_core.extension.choice import extensions_on
from identity_core.settings import Settings
from identity_core.store import Store


async def bring_up(settings: Settings) -> None:
    """Run them, each database in one transaction. Steps that were done before a kill are not repeated. Raises ``StartError``."""
    with convert_storage_faults(settings):
        plugins = load_plugins(settings, SystemClock())
        try:
            open_plugin_databases(plugins, settings)
            store = Store.open(settings.data_dir, settings.database_url)
            try:
                for one in (one.declared for one in extensions_on(plugins, store.database).on):
                    if one.migrations is not None:
                        migrate(store.database, one.migrations, f"{one.name}_")
            finally:
                await store.close()
        finally:
            await plugins.close()
