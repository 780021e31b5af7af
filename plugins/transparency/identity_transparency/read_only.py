"""Plugins and store of an installation opened read-only: nothing is made or changed, neither file nor row."""

from __future__ import annotations

import contextlib
import logging
import secrets
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from identity_codec.values import replace
from identity_core.bootstrap.ports import SystemClock, convert_storage_faults, rows_secret
from identity_core.database import DatabaseAbsent, MigrationPending
from identity_core.plugin import BuildContext, PluginError
from identity_core.plugin.border import Bulkhead
from identity_core.plugin.build import Built, build
from identity_core.plugin.load import Offer
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import Socket
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.settings import PluginTables, Settings
from identity_core.store import Store

log = logging.getLogger("identity.look")


class LookOnly(Struct, frozen=True):
    """A read-only view of the installation. Missing parts are built in ``scratch``, a temporary directory. ``pending``: migrations
    that the next start will run. ``blind``: hooks of providers without a read-only mode."""

    scratch: Path
    pending: list[str] = field(default_factory=list)
    blind: set[str] = field(default_factory=set)

    def build(
        self, offer: Offer, socket: Socket[Any], tables: PluginTables, context: BuildContext, bulkhead: Bulkhead
    ) -> Built:
        """Build the provider for a read-only look, and note what is pending. Raises ``PluginError``."""
        try:
            if offer.provider.looks:
                return build(offer, socket, tables, replace(context, read_only=True), bulkhead)
            self.blind.add(offer.hook)
        except PluginError as error:
            # What is not there yet, or waits for a start, says nothing about the plugin.
            if not isinstance(error.__cause__, DatabaseAbsent | MigrationPending):
                raise
            if isinstance(error.__cause__, MigrationPending):
                self.pending.append(str(error.__cause__))
        return build(offer, socket, tables, replace(context, data_dir=self.scratch, database_url=None), bulkhead)


def looking_plugins(settings: Settings, look: LookOnly) -> PluginManager:
    """Return the plugins over the installation, read-only."""
    # What plugins say of files that vanish at once would only mislead.
    log.setLevel(logging.CRITICAL)
    return PluginManager.load(settings, clock=SystemClock(), logger=log, make=look.build)


@contextlib.asynccontextmanager
async def open_plugins(settings: Settings) -> AsyncIterator[tuple[PluginManager, LookOnly]]:
    """Open the plugins read-only. Those without a read-only mode are built in a temporary directory. Raises ``StartError``, as a
    start does."""
    with convert_storage_faults(settings), tempfile.TemporaryDirectory() as scratch:
        look = LookOnly(Path(scratch))
        plugins = looking_plugins(settings, look)
        try:
            yield plugins, look
        finally:
            await plugins.close()


@contextlib.asynccontextmanager
async def open_store(settings: Settings, custodian: Custodian) -> AsyncIterator[Store]:
    """Open the store read-only. Raises ``DatabaseAbsent``, ``MigrationPending``, ``MigrationFailed``, ``DatabaseUnavailable``."""
    try:
        secret = await rows_secret(custodian)
    except KeyNotHeld:
        # Before the first start that makes it no row has a tag.
        secret = secrets.token_bytes(32)
    store = Store.open(settings.data_dir, settings.database_url, secret=secret, read_only=True)
    try:
        yield store
    finally:
        await store.close()


async def pending_steps(settings: Settings) -> tuple[str, ...]:
    """Return the first step that did not run of each database of an older version. Nothing is changed.

    Raises ``StartError``: also for a database that a newer version has written.
    """
    async with open_plugins(settings) as (plugins, look):
        try:
            async with open_store(settings, open_plugin_databases(plugins, settings)):
                return tuple(look.pending)
        except MigrationPending as error:
            return (*look.pending, str(error))
        except DatabaseAbsent:
            return tuple(look.pending)


def open_plugin_databases(plugins: PluginManager, settings: Settings) -> Custodian:
    """Open the databases of plugins, and return the custodian. A plugin compares or makes its steps when it is built."""
    plugins.ledger(settings.ledger.backend)
    plugins.key_stores(settings.key_stores)
    custodian, *_ = map(plugins.custodian, settings.custodian.names)
    return custodian
