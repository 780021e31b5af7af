"""The plugins, and those of their ports that a command opens alone."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from identity_core.bootstrap.clock import SystemClock
from identity_core.plugin.manager import PluginManager
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings, require_extras

log = logging.getLogger("identity")


def load_plugins(settings: Settings, clock: SystemClock) -> PluginManager:
    """The installed plugins, none of them built. Makes the data directory. Raises ``StartError``."""
    require_extras(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return PluginManager.load(settings, clock=clock, logger=log)


@contextlib.asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[LedgerBackend]:
    """The ledger, and nothing else. Raises ``StartError``."""
    plugins = load_plugins(settings, SystemClock())
    try:
        yield plugins.ledger(settings.ledger.backend)
    finally:
        await plugins.close()
