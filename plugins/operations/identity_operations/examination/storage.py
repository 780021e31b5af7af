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
from identity_core.database import DatabaseAbsent, DatabaseError, MigrationPending
from identity_core.errors import StorageMismatch
from identity_core.plugin.sockets import LEDGER
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.use_cases.auth.tagged import TaggedKeys, has_api_keys, with_tagged, writable_of
from identity_operations.examination.looking import read_database


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
                if not look.pending:
                    return await _compare(ledger, custodian, store, kept, is_blind=LEDGER.hook in look.blind)
                pending = tuple(look.pending)
        except MigrationPending as error:
            pending = (*look.pending, str(error))
        except DatabaseAbsent as error:
            entries = 0 if look.pending or LEDGER.hook in look.blind else (await ledger.head()).sequence
            if entries or (kept is not None and kept.checkpoint.size):
                what = f"The store is not there ({error.reason}), and there were entries before."
                raise StorageMismatch(what) from error
            return Compared(0, None, tuple(look.pending))
        if kept is not None:
            _require_numbers(settings, kept)
        return Compared(0, None, pending)


_ENTRIES = "SELECT coalesce(max(sequence), 0) FROM ledger_entries"
_LINES = "SELECT sequence FROM audit_head WHERE id = 1"


def _require_numbers(settings: Settings, kept: Remembered) -> None:
    """Check that databases of an older version have as many entries and lines as the stored checkpoint. Their other content cannot be
    compared before the upgrade. Raises ``StorageMismatch``."""
    entries = _number(settings, "ledger.sqlite", _ENTRIES) if settings.ledger.backend == "sql" else None
    lines = _number(settings, "identity.sqlite", _LINES)
    for what, found, known in (("ledger", entries, kept.checkpoint.size), ("audit log", lines, kept.audit_lines)):
        if found is not None and found < known:
            raise StorageMismatch(f"The {what} ends at {found}, and {known} are remembered: the databases are older.")


def _number(settings: Settings, name: str, query: str) -> int | None:
    """Return the number of a query; 0 without the file, and None where an older version has no such table."""
    try:
        row = read_database(settings.database_url, settings.data_dir / name, lambda one: one.execute(query).fetchone())
    except DatabaseAbsent:
        return 0
    except DatabaseError:
        return None
    return None if row is None else int(row[0])


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
