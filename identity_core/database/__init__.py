"""One database file or server: fast reads, and one writer whose commits are shared.

The store, the SQL ledger, the SQL key store and the SQL token bucket stand on it. README.md says why it is a room.
"""

from __future__ import annotations

from pathlib import Path

from identity_core.database.interface import (
    MAPPED_MEBIBYTES,
    ConstraintViolated,
    Cursor,
    Database,
    DatabaseAbsent,
    DatabaseClosed,
    DatabaseDamaged,
    DatabaseError,
    DatabaseForbidden,
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
    "MAPPED_MEBIBYTES",
    "ConstraintViolated",
    "Cursor",
    "Database",
    "DatabaseAbsent",
    "DatabaseClosed",
    "DatabaseDamaged",
    "DatabaseError",
    "DatabaseForbidden",
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


def open_sqlite(path: Path, *, processes: int = 1, mapped_mebibytes: int = MAPPED_MEBIBYTES) -> Database:
    """The database in the file ``path``, which is made (mode 0600) when it is absent.

    ``processes`` is how many processes write to the file: with more than one a busy writer lets the others go first.
    Each of the two connections to it maps the first ``mapped_mebibytes`` MiB of it into memory at most.
    Raises ``DatabaseUnavailable`` when the file cannot be opened.
    """
    from identity_core.database.sqlite import SqliteDatabase

    return SqliteDatabase(path, processes=processes, mapped_mebibytes=mapped_mebibytes)


def open_postgresql(url: str) -> Database:
    """The database behind a ``postgresql://`` URL (several hosts allowed). Raises ``DatabaseUnavailable``."""
    from identity_core.database.postgresql import PostgresqlDatabase

    return PostgresqlDatabase(url)


def open_database(
    url: str | None,
    path: Path,
    *,
    processes: int = 1,
    read_only: bool = False,
    mapped_mebibytes: int = MAPPED_MEBIBYTES,
) -> Database:
    """The server named by ``url``, or the embedded file ``path`` when there is none. ``read_only`` makes and changes nothing; there
    ``DatabaseAbsent`` is raised for a file that is not there."""
    if read_only:
        return look_at(url, path)
    if url is not None:
        return open_postgresql(url)
    return open_sqlite(path, processes=processes, mapped_mebibytes=mapped_mebibytes)
