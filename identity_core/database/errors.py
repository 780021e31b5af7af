"""What can go wrong in this room. What a client may be told of is a refusal of the service at the same time.

``reason`` is for the operator: it may name a path or a server. What the client sees never does.
"""

from __future__ import annotations

from identity_core.errors import InvalidRequest, Overloaded, PluginUnavailable, StorageMismatch


class DatabaseError(Exception):
    """Something about the database; by itself a fault of ours, in the SQL or in a job."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class DatabaseOverloaded(DatabaseError, Overloaded):
    """The writer's queue is full; nothing was written."""

    def __init__(self, reason: str = "") -> None:
        Overloaded.__init__(self, details={"retryAfter": 1})
        self.reason = reason


class DatabaseUnavailable(DatabaseError, PluginUnavailable):
    """The disk is full, the file or server cannot be reached, or it broke in between.

    After a lost connection to a server the outcome of a write is unknown: it may have been committed.
    """

    message = "The database is not available."

    def __init__(self, reason: str = "") -> None:
        PluginUnavailable.__init__(self, details={"retryAfter": 1})
        self.reason = reason


class DatabaseClosed(DatabaseUnavailable):
    """It was closed before; nothing was written."""


class DatabaseAbsent(DatabaseUnavailable):
    """There is nothing to look at: no file, or no tables in it."""


class NotReplicated(DatabaseUnavailable):
    """The server has committed, and gave up waiting for its synchronous standby: a failover may still lose the write."""


class DatabaseMismatch(DatabaseError, StorageMismatch):
    """What is there is not what was written."""

    def __init__(self, reason: str = "") -> None:
        StorageMismatch.__init__(self)
        self.reason = reason


class DatabaseReplaced(DatabaseMismatch):
    """The file was replaced or removed under the open connections: what is written to them would be gone with them."""


class DatabaseDamaged(DatabaseMismatch):
    """The file is not a database, or a broken one."""


class ConstraintViolated(DatabaseError):
    """A row would break a UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule; the job that tried was undone, alone."""


class ValueNotStorable(DatabaseError, InvalidRequest):
    """A value that the database cannot be asked about, such as a text with U+0000 on PostgreSQL: it came from a client, and no row has
    it."""

    def __init__(self, reason: str = "") -> None:
        InvalidRequest.__init__(self, "A text of the request has a character that cannot be stored.")
        self.reason = reason


class MigrationFailed(DatabaseError):
    """The tables cannot be brought to the state that this version of the program needs."""


class MigrationPending(MigrationFailed):
    """The tables are of an older version, and were opened to be looked at."""
