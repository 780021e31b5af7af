"""Comparison of databases and API keys, as at a start. It creates and changes nothing, neither file nor row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from identity_records.audit import audit_of
from identity_records.chain import require_line
from identity_transparency.opening import check_of, checkpoint_keys, load_remembered
from identity_transparency.read_only import open_plugins, open_store
from identity_transparency.remembered import Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import ReadCheckpointKeys
from msgspec import Struct

from identity_core.bootstrap.ports import SystemClock
from identity_core.database import DatabaseAbsent, MigrationPending
from identity_core.errors import StorageMismatch
from identity_core.plugin.sockets import LEDGER
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.use_cases.auth.tagged import TaggedKeys, has_api_keys, with_tagged, writable_of


class Compared(Struct, frozen=True):
    """The result of a comparison.

    - ``entries``: entries of the ledger that were compared with the store; None if the ledger cannot be read.
    - ``remembered``: the number of entries in the stored note; None if there is none.
    - ``pending``: migrations of the next start; if there are any, nothing was compared.
    - ``newest``: the time of the newest entry.
    """

    entries: int | None
    remembered: int | None
    pending: tuple[str, ...] = ()
    newest: datetime | None = None


async def compare_storage(settings: Settings) -> Compared:
    """Compare the same data as a start. Raises ``StartError``, whose text is that of a start."""
    async with open_plugins(settings) as (plugins, look):
        ledger = plugins.ledger(settings.ledger.backend)
        custodian = plugins.custodian(settings.custodian.backend)
        kept = load_remembered(settings)
        try:
            async with open_store(settings, custodian) as store:
                if look.pending:
                    return Compared(0, None, tuple(look.pending))
                return await _compare(ledger, custodian, store, kept, is_blind=LEDGER.hook in look.blind)
        except MigrationPending as error:
            return Compared(0, None, (*look.pending, str(error)))
        except DatabaseAbsent as error:
            entries = 0 if look.pending or LEDGER.hook in look.blind else (await ledger.head()).sequence
            if entries or (kept is not None and kept.checkpoint.size):
                what = f"The store is not there ({error.reason}), and there were entries before."
                raise StorageMismatch(what) from error
            return Compared(0, None, tuple(look.pending))


async def _compare(
    ledger: LedgerBackend, custodian: Custodian, store: Store, kept: Remembered | None, *, is_blind: bool
) -> Compared:
    check, remembered = check_of(ledger, store), None if kept is None else kept.checkpoint.size
    if not is_blind:
        await check.projections()
    if kept is not None:
        if not is_blind:
            read = ReadCheckpointKeys(custodian, ledger, TransparencyTree(store.database), kept.checkpoint.origin)
            await check.remembered(kept, await checkpoint_keys(read))
        await require_line(audit_of(store), kept.audit_lines, kept.audit_link)
    if is_blind:
        return Compared(None, remembered)
    entries = (await ledger.head()).sequence
    newest = [line.receipt.recorded_at for line in await ledger.entries_after(entries - 1, 1)] if entries else []
    return Compared(entries, remembered, newest=max(newest, default=None))


class KeysFound(Struct, frozen=True):
    """The API keys of the stores: whether there are any, and those that another program changed."""

    any: bool
    faults: Sequence[str] = ()


async def look_at_keys(settings: Settings) -> KeysFound:
    """Return the findings of a start about the API keys. Raises ``StartError``."""
    async with open_plugins(settings) as (plugins, look):
        stores = plugins.key_stores(settings.key_stores)
        custodian = plugins.custodian(settings.custodian.backend)
        if look.pending or look.blind:
            # Nothing was tagged yet, or cannot be seen.
            return KeysFound(await has_api_keys(stores))
        try:
            async with open_store(settings, custodian) as store:
                keys = TaggedKeys(writable_of(stores), store.api_key_tags, SystemClock())
                return KeysFound(await has_api_keys(with_tagged(stores, keys)), await keys.faults())
        except (MigrationPending, DatabaseAbsent):
            # The check of the storage reports what is wrong with the store.
            return KeysFound(await has_api_keys(stores))
