"""One database file or server: fast reads, and one writer whose commits are shared.

The store, the SQL ledger, the SQL key store and the SQL token bucket stand on it. README.md says why it is a room.
"""

from __future__ import annotations

from pathlib import Path

from identity_core.database.interface import (
    ConstraintViolated,
    Cursor,
    Database,
    DatabaseAbsent,
    DatabaseClosed,
    DatabaseDamaged,
    DatabaseError,
    DatabaseMismatch,
    DatabaseOverloaded,
    DatabaseReplaced,
    DatabaseUnavailable,
    Dialect,
    Job,
    MigrationFailed,
    MigrationPending,
    NotReplicated,
    Transaction,
)
from identity_core.database.look import Look, faults_of, look_at
from identity_core.database.migrations import migrate

__all__ = [
    "ConstraintViolated",
    "Cursor",
    "Database",
    "DatabaseAbsent",
    "DatabaseClosed",
    "DatabaseDamaged",
    "DatabaseError",
    "DatabaseMismatch",
    "DatabaseOverloaded",
    "DatabaseReplaced",
    "DatabaseUnavailable",
    "Dialect",
    "Job",
    "Look",
    "MigrationFailed",
    "MigrationPending",
    "NotReplicated",
    "Transaction",
    "faults_of",
    "look_at",
    "migrate",
    "open_database",
    "open_postgresql",
    "open_sqlite",
]


def open_sqlite(path: Path, *, processes: int = 1) -> Database:
    """The database in the file ``path``, which is made (mode 0600) when it is absent.

    ``processes`` is how many processes write to the file: with more than one a busy writer lets the others go first.
    Raises ``DatabaseUnavailable`` when the file cannot be opened.
    """
    from identity_core.database.sqlite import SqliteDatabase

    return SqliteDatabase(path, processes=processes)


def open_postgresql(url: str) -> Database:
    """The database behind a ``postgresql://`` URL (several hosts allowed). Raises ``DatabaseUnavailable``."""
    from identity_core.database.postgresql import PostgresqlDatabase

    return PostgresqlDatabase(url)


def open_database(url: str | None, path: Path, *, processes: int = 1, read_only: bool = False) -> Database:
    """The server named by ``url``, or the embedded file ``path`` when there is none. ``read_only`` makes and changes nothing; there
    ``DatabaseAbsent`` is raised for a file that is not there."""
    if read_only:
        return look_at(url, path)
    return open_sqlite(path, processes=processes) if url is None else open_postgresql(url)
