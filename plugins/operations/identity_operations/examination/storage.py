"""Databases and API keys compared as a start compares them. Nothing is made or changed, neither file nor row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from identity_records.audit import audit_of
from identity_records.chain import require_line
from identity_transparency.opening import check_of, checkpoint_keys, load_remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import ReadCheckpointKeys

from identity_codec.values import value_class
from identity_core.bootstrap.beside import has_api_keys, with_tagged, writable_of
from identity_core.bootstrap.ports import SystemClock
from identity_core.bootstrap.read_only import looking_plugins, looking_store
from identity_core.bootstrap.storage import told_at_start
from identity_core.database import DatabaseAbsent, MigrationPending
from identity_core.errors import StorageMismatch
from identity_core.plugin.build import LookOnly
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import LEDGER
from identity_core.settings import Settings
from identity_core.use_cases.api_keys.tagged import TaggedKeys


@value_class
class Compared:
    """``entries`` of the ledger were held against the store; None where the ledger cannot be looked at. ``remembered`` is how many the
    note tells of, None where there is none. ``pending`` is what the next start brings up to date; then nothing was compared.
    ``newest`` is the time of the newest entry."""

    entries: int | None
    remembered: int | None
    pending: tuple[str, ...] = ()
    newest: datetime | None = None


async def compare_storage(settings: Settings, scratch: Path) -> Compared:
    """Everything that a start compares. Raises ``StartError``, whose text is that of a start."""
    with told_at_start(settings):
        look = LookOnly(scratch)
        plugins = looking_plugins(settings, look)
        try:
            return await _compare(settings, plugins, look)
        finally:
            await plugins.close()


async def _compare(settings: Settings, plugins: PluginManager, look: LookOnly) -> Compared:
    ledger = plugins.ledger(settings.ledger.backend)
    custodian = plugins.custodian(settings.custodian.backend)
    kept = load_remembered(settings)
    try:
        store = await looking_store(settings, custodian)
    except MigrationPending as error:
        return Compared(0, None, (*look.pending, str(error)))
    except DatabaseAbsent as error:
        entries = 0 if look.pending or LEDGER.hook in look.blind else (await ledger.head()).sequence
        if entries or (kept is not None and kept.checkpoint.size):
            raise StorageMismatch(f"The store is not there ({error.reason}), and there were entries before.") from error
        return Compared(0, None, tuple(look.pending))
    try:
        if look.pending:
            return Compared(0, None, tuple(look.pending))
        check = check_of(ledger, store)
        if LEDGER.hook in look.blind:
            if kept is not None:
                await require_line(audit_of(store), kept.audit_lines, kept.audit_link)
            return Compared(None, None if kept is None else kept.checkpoint.size)
        await check.projections()
        if kept is not None:
            read = ReadCheckpointKeys(custodian, ledger, TransparencyTree(store.database), kept.checkpoint.origin)
            await check.remembered(kept, await checkpoint_keys(read))
            await require_line(audit_of(store), kept.audit_lines, kept.audit_link)
        entries = (await ledger.head()).sequence
        newest = [line.receipt.recorded_at for line in await ledger.entries_after(entries - 1, 1)] if entries else []
        return Compared(entries, None if kept is None else kept.checkpoint.size, newest=max(newest, default=None))
    finally:
        await store.close()


@value_class
class KeysFound:
    """Whether there is an API key, as far as stores can tell, and which of them are not as the service left them."""

    any: bool
    faults: Sequence[str] = ()


async def look_at_keys(settings: Settings, scratch: Path) -> KeysFound:
    """Return what a start would report about the API keys. Raises ``StartError``."""
    with told_at_start(settings):
        look = LookOnly(scratch)
        plugins = looking_plugins(settings, look)
        try:
            stores = plugins.key_stores(settings.key_stores)
            custodian = plugins.custodian(settings.custodian.backend)
            if look.pending or look.blind:
                # Nothing was tagged yet, or cannot be seen.
                return KeysFound(await has_api_keys(stores))
            try:
                store = await looking_store(settings, custodian)
            except (MigrationPending, DatabaseAbsent):
                # What is wrong with the store is told of the storage.
                return KeysFound(await has_api_keys(stores))
            try:
                keys = TaggedKeys(writable_of(stores), store.api_key_tags, SystemClock())
                return KeysFound(await has_api_keys(with_tagged(stores, keys)), await keys.faults())
            finally:
                await store.close()
        finally:
            await plugins.close()
