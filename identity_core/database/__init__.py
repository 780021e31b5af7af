"""One database file or server: fast reads, and one writer whose commits are shared.

The store, the SQL ledger, the SQL key store and the SQL token bucket stand on it. README.md says why it is a room.
"""

from __future__ import annotations

from pathlib import Path

from identity_core.database.group_commit import BatchJob as BatchJob
from identity_core.database.group_commit import followed_by as followed_by
from identity_core.database.interface import DATABASES, driver_of
from identity_core.database.interface import MAPPED_MEBIBYTES as MAPPED_MEBIBYTES
from identity_core.database.interface import READERS as READERS
from identity_core.database.interface import ConstraintViolated as ConstraintViolated
from identity_core.database.interface import Cursor as Cursor
from identity_core.database.interface import Database as Database
from identity_core.database.interface import DatabaseAbsent as DatabaseAbsent
from identity_core.database.interface import DatabaseClosed as DatabaseClosed
from identity_core.database.interface import DatabaseDamaged as DatabaseDamaged
from identity_core.database.interface import DatabaseError as DatabaseError
from identity_core.database.interface import DatabaseForbidden as DatabaseForbidden
from identity_core.database.interface import DatabaseMismatch as DatabaseMismatch
from identity_core.database.interface import DatabaseOverloaded as DatabaseOverloaded
from identity_core.database.interface import DatabaseReplaced as DatabaseReplaced
from identity_core.database.interface import DatabaseUnavailable as DatabaseUnavailable
from identity_core.database.interface import Dialect as Dialect
from identity_core.database.interface import Job as Job
from identity_core.database.interface import MigrationFailed as MigrationFailed
from identity_core.database.interface import MigrationPending as MigrationPending
from identity_core.database.interface import NotReplicated as NotReplicated
from identity_core.database.interface import Transaction as Transaction
from identity_core.database.look import Look as Look
from identity_core.database.look import faults_of as faults_of
from identity_core.database.look import look_at as look_at
from identity_core.database.migrations import migrate as migrate
from identity_core.database.migrations import refuse_upgrades as refuse_upgrades


def open_sqlite(path: Path, *, processes: int = 1, mapped_mebibytes: int = MAPPED_MEBIBYTES) -> Database:
    """The database in the file ``path``, which is made (mode 0600) when it is absent.

    ``processes`` is how many processes write to the file: with more than one a busy writer lets the others go first.
    Each of the two connections to it maps the first ``mapped_mebibytes`` MiB of it into memory at most.
    Raises ``DatabaseUnavailable`` when the file cannot be opened.
    """
    from identity_core.database.sqlite import SqliteDatabase

    return SqliteDatabase(path, processes=processes, mapped_mebibytes=mapped_mebibytes)


def open_database(
    url: str | None,
    path: Path,
    *,
    processes: int = 1,
    read_only: bool = False,
    mapped_mebibytes: int = MAPPED_MEBIBYTES,
    readers: int = READERS,
    writer_lock: str = "",
) -> Database:
    """Open the server named by ``url``, or the embedded file ``path`` when there is none.

    ``read_only`` makes and changes nothing; there ``DatabaseAbsent`` is raised for a file that is not there. The others are for a server:
    it gets at most ``readers`` connections for reading. ``writer_lock`` is a statement that locks a row: each transaction of
    ``Database.write`` begins with it, so that of all processes one writes at a time, as to a file. Without it transactions that
    change the same rows in different orders may wait for each other; the server ends one of them after a second, and it is
    run again. Raises ``DatabaseUnavailable``.
    """
    if read_only:
        return look_at(url, path)
    if url is not None:
        server: Database = driver_of(DATABASES, url)(url, writer_lock, readers)
        return server
    return open_sqlite(path, processes=processes, mapped_mebibytes=mapped_mebibytes)
