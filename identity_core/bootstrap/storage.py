"""The faults of databases as the error of a start; plugins and store of an installation opened read-only.

Read-only, nothing is made or changed, neither file nor row.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from identity_core.bootstrap.ports import SystemClock, rows_secret
from identity_core.database import (
    DatabaseAbsent,
    DatabaseDamaged,
    DatabaseError,
    DatabaseForbidden,
    MigrationFailed,
    MigrationPending,
    faults_of,
)
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.plugin.build import LookOnly
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.settings import Settings, StartError
from identity_core.store import Store

PUT_BACK = (
    "put the right databases back, all of one backup; if this is the backup that you want, run `identity ledger accept-rollback`, "
    "which says what is lost"
)

BRING_UP = "make a backup, then `identity upgrade apply`; the next start does it as well"


@contextlib.contextmanager
def told_at_start(settings: Settings) -> Iterator[None]:
    """Whatever is wrong with the databases as a ``StartError`` that names place and remedy."""
    try:
        yield
    except StartError as error:
        if not isinstance(error.__cause__, DatabaseDamaged | DatabaseForbidden | MigrationFailed):
            raise
        raise storage_error(settings, error.__cause__) from error
    except (DatabaseError, StorageMismatch) as error:
        raise storage_error(settings, error) from error
    except IdentityError as error:
        if not isinstance(error.__cause__, DatabaseError):
            raise
        raise storage_error(settings, error) from error


def storage_error(settings: Settings, error: Exception) -> StartError:
    """``error`` in three lines."""
    where = str(settings.data_dir) if settings.database_url is None else "the database of database_url"
    cause = error if isinstance(error, DatabaseError) else error.__cause__
    if isinstance(cause, DatabaseDamaged):
        for path in sorted(settings.data_dir.glob("*.sqlite")):
            for fault in faults_of(path):
                fix = f"put {path.name} and the other databases back from one backup; keep the broken ones"
                return StartError(f"{path.name} is damaged: {fault}", str(path), fix)
    if isinstance(error, StorageMismatch):
        return StartError(f"the databases are not those that this service wrote: {error}", where, PUT_BACK)
    if isinstance(cause, MigrationPending):
        return StartError(f"the databases are of an older version: {cause}", where, BRING_UP)
    if isinstance(cause, MigrationFailed):
        fix = "install the version of identity-service that made it, or put back a backup from before the upgrade"
        return StartError(str(cause), where, fix)
    if isinstance(cause, DatabaseForbidden):
        why = f"the role of database_url may not do that: {' '.join(cause.reason.split())}"
        fix = "connect as the role that owns the tables (`\\dt` of psql names it), or give this one its rights"
        return StartError(why, where, fix)
    what = cause.reason if isinstance(cause, DatabaseError) else cause or error
    return StartError(f"the databases cannot be used: {what}", where, "see `identity doctor`")


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


async def pending_steps(settings: Settings) -> tuple[str, ...]:
    """Return the first step that did not run of each database of an older version. Nothing is changed.

    Raises ``StartError``: also for a database that a newer version has written.
    """
    with told_at_start(settings), tempfile.TemporaryDirectory() as scratch:
        look = LookOnly(Path(scratch))
        plugins = looking_plugins(settings, look)
        try:
            store = await looking_store(settings, open_plugin_databases(plugins, settings))
        except MigrationPending as error:
            return (*look.pending, str(error))
        except DatabaseAbsent:
            return tuple(look.pending)
        finally:
            await plugins.close()
        await store.close()
        return tuple(look.pending)


def open_plugin_databases(plugins: PluginManager, settings: Settings) -> Custodian:
    """Open the databases of plugins, and return the custodian. A plugin compares or makes its steps when it is built."""
    plugins.ledger(settings.ledger.backend)
    plugins.key_stores(settings.key_stores)
    custodian, *_ = map(plugins.custodian, settings.custodian.names)
    return custodian
