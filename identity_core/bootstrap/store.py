"""The store, opened by a command beside a running service."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.own_keys import make_rows_key, rows_secret
from identity_core.bootstrap.plugins import load_plugins, log
from identity_core.domain.custody import KeyNotHeld
from identity_core.errors import PluginUnavailable
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import AuditLog
from identity_core.settings import Settings, StartError
from identity_core.store import Store


async def open_store(settings: Settings, custodian: Custodian, *, processes: int) -> Store:
    """The store, whose rows have tags that follow from a key of the custodian. The first start that makes the key takes the audit log
    as it is then; from there on it has a head that only this installation can make. Raises ``DatabaseUnavailable``, ``MigrationFailed``.
    """
    try:
        secret, is_first = await rows_secret(custodian), False
    except KeyNotHeld:
        await make_rows_key(custodian)
        secret, is_first = await rows_secret(custodian), True
    store = Store.open(settings.data_dir, settings.database_url, processes=processes, secret=secret)
    # A custodian may be older than its database: one that has nothing in it yet has nothing to hide.
    if is_first or await store.is_new():
        await store.audit.key_from_here()
    return store


async def store_beside(settings: Settings, custodian: Custodian) -> Store:
    """The store, for one process more than the service has: there are at least two that write. Raises as ``open_store``."""
    return await open_store(settings, custodian, processes=max(settings.server.workers, 2))


@dataclass(frozen=True, slots=True)
class AuditTools:
    """The audit log, and whether the custodian holds what its head is checked with."""

    log: AuditLog
    is_keyed: bool


@contextlib.asynccontextmanager
async def audit_log(settings: Settings) -> AsyncIterator[AuditTools]:
    """The audit log beside a running service. Where the installation's keys are not at hand, only the chain can be checked."""
    async with AsyncExitStack() as stack:
        secret = await _secret_of(settings, stack)
        processes = max(settings.server.workers, 2)
        store = Store.open(
            settings.data_dir, settings.database_url, processes=processes, secret=secret or secrets.token_bytes(32)
        )
        stack.push_async_callback(store.close)
        yield AuditTools(store.audit, secret is not None)


async def _secret_of(settings: Settings, stack: AsyncExitStack) -> bytes | None:
    """What the tags of rows follow from; None where the custodian does not open, or has no key yet. None is made."""
    is_file = settings.custodian.backend == "sealed" and settings.database_url is None
    if is_file and not (settings.data_dir / "custodian.sqlite").is_file():
        # To open it would make one.
        return None
    plugins = load_plugins(settings, SystemClock())
    stack.push_async_callback(plugins.close)
    try:
        return await rows_secret(plugins.custodian(settings.custodian.backend))
    except (StartError, KeyNotHeld, PluginUnavailable) as error:
        log.warning("the keys of this installation are not at hand: %s", error)
        return None
