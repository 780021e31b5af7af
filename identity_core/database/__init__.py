"""One database file or server: fast reads, and one writer whose commits are shared.

The store, the SQL ledger, the SQL key store and the SQL token bucket use it. README.md has the reasons for this
package.
"""

from __future__ import annotations

from pathlib import Path

from identity_core.database.group_commit import BatchJob as BatchJob
from identity_core.database.group_commit import follow_write as follow_write
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
from identity_core.database.migrations import migrate as migrate
from identity_core.database.migrations import refuse_upgrades as refuse_upgrades
from identity_core.database.read_only import Look as Look
from identity_core.database.read_only import faults_of as faults_of
from identity_core.database.read_only import look_at as look_at


def open_sqlite(path: Path, *, processes: int = 1, mapped_mebibytes: int = MAPPED_MEBIBYTES) -> Database:
    """Return the database in the file ``path``, which is created (mode 0600) if it is missing.

    ``processes``: the number of processes that write to the file. With more than one a busy writer lets the others go
    first.
    ``mapped_mebibytes``: the maximum of MiB of the file that each of the two connections maps into memory.

    Raises ``DatabaseUnavailable``: when the file cannot be opened.
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
    """Open the server named by ``url``, or the embedded file ``path`` if ``url`` is None.

    ``read_only``: create and change nothing.
    ``readers``: for a server, the maximum of connections for reading.
    ``writer_lock``: for a server, a statement that locks a row. Each transaction of ``Database.write`` begins with
    it, so that one process writes at a time, as to a file. Without it, transactions that change the same rows in
    different orders may deadlock. The server aborts one of them after a second, and it is run again.

    Raises ``DatabaseUnavailable``; with ``read_only`` ``DatabaseAbsent``: when the file is missing.
    """
    if read_only:
        return look_at(url, path)
    if url is not None:
        server: Database = driver_of(DATABASES, url)(url, writer_lock, readers)
        return server
    return open_sqlite(path, processes=processes, mapped_mebibytes=mapped_mebibytes)
