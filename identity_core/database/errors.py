"""What can go wrong in this room. Callers translate: a ledger to ``LedgerUnavailable``, a handler's edge to 503."""

from __future__ import annotations


class DatabaseError(Exception):
    """Something about the database."""


class DatabaseOverloaded(DatabaseError):
    """The writer's queue is full; nothing was written."""


class DatabaseUnavailable(DatabaseError):
    """The disk is full, the file or server cannot be reached, or it broke in between.

    After a lost connection to a server the outcome of a write is unknown: it may have been committed.
    """


class DatabaseClosed(DatabaseUnavailable):
    """It was closed before; nothing was written."""


class DatabaseReplaced(DatabaseUnavailable):
    """The file was replaced or removed under the open connections: what is written to them would be gone with them."""


class DatabaseAbsent(DatabaseUnavailable):
    """There is nothing to look at: no file, or no tables in it."""


class DatabaseDamaged(DatabaseUnavailable):
    """The file is not a database, or a broken one."""


class NotReplicated(DatabaseUnavailable):
    """The server has committed, and gave up waiting for its synchronous standby: a failover may still lose the write."""


class ConstraintViolated(DatabaseError):
    """A row would break a UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule; the job that tried was undone, alone."""


class MigrationFailed(DatabaseError):
    """The tables cannot be brought to the state that this version of the program needs."""


class MigrationPending(MigrationFailed):
    """The tables are of an older version, and were opened to be looked at."""
