"""The databases held against each other and against what is remembered of them, at a start and by commands, and what is wrong with them
as the error of a start.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator

from identity_core.bootstrap.ports import checkpoint_file_of
from identity_core.database import (
    DatabaseDamaged,
    DatabaseError,
    DatabaseForbidden,
    MigrationFailed,
    MigrationPending,
    faults_of,
)
from identity_core.domain.ledger.checkpoint_keys import CheckpointKeys
from identity_core.domain.ledger.remembered import Remembered
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.ports.custodian import KeyNotHeld
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import NAME_OF_LOG, Settings, StartError
from identity_core.store import Store
from identity_core.store.checkpoint_file import CheckpointFile
from identity_core.use_cases.ledger.storage import CheckStorage
from identity_tlog.tree import Malformed

PUT_BACK = (
    "put the right databases back, all of one backup; if this is the backup that you want, run `identity ledger accept-rollback`, "
    "which says what is lost"
)

BRING_UP = "make a backup, then `identity upgrade apply`; the next start does it as well"


def check_of(ledger: LedgerBackend, store: Store) -> CheckStorage:
    """The check over open databases."""
    return CheckStorage(ledger, store.documents, store.transparency, store.audit)


def load_remembered(settings: Settings) -> Remembered | None:
    """What is remembered. Raises ``StartError`` where it cannot be read."""
    try:
        return CheckpointFile(checkpoint_file_of(settings)).load()
    except (Malformed, OSError) as error:
        what = f"the checkpoint that is remembered cannot be read: {error}"
        fix = (
            "put the right file back; `identity ledger accept-rollback` begins a new one from the databases as they are"
        )
        raise StartError(what, str(checkpoint_file_of(settings)), fix) from error


async def checkpoint_keys(read: Callable[[], Awaitable[CheckpointKeys]]) -> CheckpointKeys:
    """The keys of the log's checkpoints, as ``read`` gives them. Raises ``StartError`` where the custodian does not hold the one in use."""
    try:
        return await read()
    except KeyNotHeld as error:
        what = "the custodian does not hold the key of the log, with which the checkpoint that is remembered was signed"
        raise StartError(what, "the custodian", PUT_BACK) from error


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


def check_new_origin(settings: Settings, new_origin: str) -> None:
    """Raises ``StartError`` for what is no name of a log, and where the settings hold on to another."""
    if re.fullmatch(NAME_OF_LOG, new_origin) is None:
        raise StartError(
            "no log has such a name", new_origin, "take up to 200 printable ASCII characters, without plus or blank"
        )
    if settings.ledger.origin not in (None, new_origin):
        what = f"the settings say that the log is called {settings.ledger.origin}"
        raise StartError(what, "ledger.origin", "set ledger.origin to the new name, or take it out")
