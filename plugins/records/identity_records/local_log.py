"""The audit log of an installation, opened by a command beside a running service."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from identity_core.bootstrap.ports import SystemClock, convert_storage_faults, load_plugins, log, rows_secret
from identity_core.database import refuse_upgrades
from identity_core.errors import PluginUnavailable
from identity_core.ports.custodian import KeyNotHeld
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_records.audit import AuditLines


@contextlib.asynccontextmanager
async def audit_log(settings: Settings) -> AsyncIterator[tuple[AuditLines, bool]]:
    """Open the audit log, and return whether the custodian holds the secret to check its head. Without it, only the chain can be
    checked."""
    refuse_upgrades()
    async with AsyncExitStack() as stack:
        secret = await _secret_of(settings, stack)
        with convert_storage_faults(settings):
            store = Store.open(
                settings.data_dir,
                settings.database_url,
                processes=max(settings.server.workers, 2),
                secret=secret or secrets.token_bytes(32),
                mapped_mebibytes=settings.mapped_mebibytes,
                readers=settings.database_readers,
            )
        stack.push_async_callback(store.close)
        yield AuditLines(store), secret is not None


async def _secret_of(settings: Settings, stack: AsyncExitStack) -> bytes | None:
    """Return the secret of the tags of rows; None if the custodian does not open or has no key yet. No key is made."""
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
