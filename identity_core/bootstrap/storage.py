"""The faults of databases as the error of a start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from identity_core.database import (
    DatabaseDamaged,
    DatabaseError,
    DatabaseForbidden,
    MigrationFailed,
    MigrationPending,
    faults_of,
)
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.settings import Settings, StartError

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
