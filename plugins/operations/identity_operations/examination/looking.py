"""Read-only opening of an installation: its plugins, its store, and single databases.

The functions import ``identity_core.bootstrap``, which is slow to load: `identity doctor --help` does not need it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from identity_core.database import Job, look_at
from identity_core.database.interface import T
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.settings import Settings
from identity_core.store import Store

if TYPE_CHECKING:
    from identity_transparency.read_only import LookOnly


@contextlib.asynccontextmanager
async def open_plugins(settings: Settings) -> AsyncIterator[tuple[PluginManager, LookOnly]]:
    """Open the plugins read-only. Those without a read-only mode are built in a temporary directory. Raises ``StartError``, as a
    start does."""
    from identity_transparency.read_only import LookOnly, looking_plugins

    from identity_core.bootstrap.ports import convert_storage_faults

    with convert_storage_faults(settings), tempfile.TemporaryDirectory() as scratch:
        look = LookOnly(Path(scratch))
        plugins = looking_plugins(settings, look)
        try:
            yield plugins, look
        finally:
            await plugins.close()


@contextlib.asynccontextmanager
async def open_store(settings: Settings, custodian: Custodian) -> AsyncIterator[Store]:
    """Open the store read-only. Raises as ``looking_store``."""
    from identity_transparency.read_only import looking_store

    store = await looking_store(settings, custodian)
    try:
        yield store
    finally:
        await store.close()


def read_database(url: str | None, path: Path, job: Job[T]) -> T:
    """Return the result of ``job`` on the database at ``url``, or in the file ``path`` without one. Raises ``DatabaseError``."""
    look = look_at(url, path)
    try:
        return look.read_now(job)
    finally:
        look.end()
