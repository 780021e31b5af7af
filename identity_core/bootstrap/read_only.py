"""Plugins and store of an installation opened read-only: nothing is made or changed, neither file nor row."""

from __future__ import annotations

import logging
import secrets

from identity_core.bootstrap.ports import SystemClock, rows_secret
from identity_core.plugin.build import LookOnly
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.settings import Settings
from identity_core.store import Store

log = logging.getLogger("identity.look")


def looking_plugins(settings: Settings, look: LookOnly) -> PluginManager:
    """The plugins over the installation, read-only."""
    # What plugins say of files that vanish at once would only mislead.
    log.setLevel(logging.CRITICAL)
    return PluginManager.load(settings, clock=SystemClock(), logger=log, look=look)


async def looking_store(settings: Settings, custodian: Custodian) -> Store:
    """The store, read-only. Raises ``DatabaseAbsent``, ``MigrationPending``, ``MigrationFailed``, ``DatabaseUnavailable``."""
    try:
        secret = await rows_secret(custodian)
    except KeyNotHeld:
        # Before the first start that makes it no row has a tag.
        secret = secrets.token_bytes(32)
    return Store.open(settings.data_dir, settings.database_url, secret=secret, read_only=True)
