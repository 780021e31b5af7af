"""Migrations that an installation lacks, run without a start."""

from __future__ import annotations

from identity_transparency.read_only import open_plugin_databases

from identity_core.bootstrap.ports import SystemClock, load_plugins, told_at_start
from identity_core.settings import Settings
from identity_core.store import Store


async def bring_up(settings: Settings) -> None:
    """Run them, each database in one transaction. Steps that were done before a kill are not repeated. Raises ``StartError``."""
    with told_at_start(settings):
        plugins = load_plugins(settings, SystemClock())
        try:
            open_plugin_databases(plugins, settings)
            await Store.open(settings.data_dir, settings.database_url).close()
        finally:
            await plugins.close()
