"""The port of a database, its errors, and the drivers that distributions register as entry points by the scheme of a
URL.

SQL is written by hand, with ``:name`` parameters, once for both dialects. Times are integers (microseconds since
1970, UTC), bytes are BLOB or BYTEA, conflicts are ``ON CONFLICT``, written values are returned by ``RETURNING``.

An error that a client may see is also an error of the service. ``reason`` is for the operator: it may name a path or
a server. The client never sees it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeVar

from msgspec import Struct

from identity_core.errors import InvalidRequest, Overloaded, PluginUnavailable, StorageMismatch

T = TypeVar("T")

Dialect = Literal["sqlite", "postgresql"]

MAPPED_MEBIBYTES = 0
"""The default number of MiB of an SQLite file that a connection maps into memory."""

READERS = 3
"""The default maximum of connections for reading that a database on a server opens."""

Parameters = Mapping[str, object] | Sequence[object]

NOTHING: Parameters = MappingProxyType({})


class Cursor(Protocol):
    """The rows of one statement."""

    @property
    def rowcount(self) -> int:
        """Return the number of rows that an INSERT, UPDATE or DELETE changed."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple, or None."""

    def fetchall(self) -> list[Any]:
        """Return the remaining rows as tuples."""


class Transaction(Protocol):
    """The interface with which a job reads and writes. It is valid only while the job runs."""

    @property
    def group(self) -> int:
        """Return the number of the writer's transaction. Jobs with the same number are committed together or not at
        all."""

    def execute(self, sql: str, parameters: Parameters = NOTHING, /) -> Cursor:
        """Run one statement. Its parameters are ``:name``, or ``?`` for a sequence of them, which SQLite binds in a
        third less time."""

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Cursor:
        """Run a changing statement once for each of ``rows``, which fill its ``?``. ``rowcount`` is the sum. It costs
        half as much as separate statements, and on a server one round trip."""


Job = Callable[[Transaction], T]


class Database(Protocol):
    """Reads and writes by jobs, which are plain functions of a ``Transaction``.

    A job must be short and do nothing but SQL and arithmetic. It may run again, with another ``Transaction.group``,
    when another job of its group raised or a server has undone the group. Every method may raise
    ``DatabaseUnavailable``. An error that a job raises reaches its caller unchanged; the driver's errors are
    converted to those of this package.
    """

    @property
    def dialect(self) -> Dialect:
        """Return the SQL dialect, for statements that differ."""

    @property
    def read_only(self) -> bool:
        """Return whether it was opened read-only: every write is refused, and nothing on the disk changes."""

    def require_in_place(self) -> None:
        """Raise ``DatabaseReplaced`` when the file is no longer the one that was opened. On a server nothing is
        checked."""

    async def read(self, job: Job[T]) -> T:
        """Run a job that only reads committed rows. Each statement has its own snapshot, so values that must agree
        must come from one statement.

        SQLite: at once, on the calling thread, so use look-ups by key and short pages only. PostgreSQL: on a reader's
        thread.
        """

    def look_up(self, sql: str, parameters: Mapping[str, object]) -> Awaitable[list[Any]]:
        """Return the committed rows of one SELECT that finds a few rows by an index. PostgreSQL starts the query at
        the call, so several may run at once, and no thread waits."""

    def read_now(self, job: Job[T]) -> T:
        """Run ``read`` without an event loop. On PostgreSQL it blocks the caller, so it is for startup and commands."""

    def write(
        self,
        job: Job[T],
        *,
        durable: bool = True,
        patience_seconds: float = 0.0,
        heavy: bool = False,
        then: Callable[[T], None] | None = None,
    ) -> Awaitable[T]:
        """Queue a job for the writer at once. The awaitable resolves after COMMIT.

        Jobs that wait at the same time share one transaction; a job that raises is undone alone.

        ``durable=False``: the commit returns before it is on the disk. It survives the death of the process. If the
        machine loses power, it may be lost, last commits first.
        ``patience_seconds``: the batch window of the job. One job without a batch window starts them all.
        ``heavy``: for a job that changes many pages and that no caller waits for. Its awaitable resolves when the
        writer is free for the next group, so its duration is the time for which the writer was held. SQLite moves the
        pages out of its log soon after.
        ``then``: gets the result on the event loop once it is committed, whether or not a caller still waits for it.

        A job whose awaitable is cancelled before it starts is not run, unless it has a ``then``.

        The awaitable raises ``DatabaseOverloaded``: when too many jobs wait; ``DatabaseClosed``: after ``close``. The
        call itself raises neither.
        """

    def write_now(self, job: Job[T]) -> T:
        """Run one durable transaction without an event loop. It is for startup and commands, and must not be used
        beside queued jobs."""

    def foreign_changes(self) -> int | None:
        """Return a number that changes whenever another writer than this object's has committed; None where that is
        expensive to read (PostgreSQL)."""

    def load(self) -> DatabaseLoad:
        """Return the numbers of waiting and finished jobs."""

    async def close(self) -> None:
        """Finish the queued jobs, and close files and connections. A second call is not an error."""


class DatabaseLoad(Struct, frozen=True):
    """Numbers of a database object since its start.

    ``waiting``: jobs in the queue, of at most ``limit``. ``jobs`` and ``groups``: their quotient is the number of
    jobs per commit.
    ``repeated``: groups that the server undid because of another process, and that ran again.
    ``reads``: reads and look-ups that run or wait for one of ``readers``, the connections for them in this process; 0
    if reads never wait.
    ``failed``: groups that were not committed.
    """

    waiting: int
    limit: int
    jobs: int
    groups: int
    repeated: int = 0
    reads: int = 0
    readers: int = 0
    failed: int = 0


class DatabaseError(Exception):
    """An error of the database. The class itself means a fault of this service, in the SQL or in a job."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class DatabaseOverloaded(DatabaseError, Overloaded):
    """The writer's queue is full. Nothing was written."""

    def __init__(self, reason: str = "") -> None:
        Overloaded.__init__(self, details={"retryAfter": 1})
        self.reason = reason


class DatabaseUnavailable(DatabaseError, PluginUnavailable):
    """The disk is full, the file or server cannot be reached, or the connection broke.

    After a lost connection to a server the outcome of a write is unknown: it may have been committed.
    """

    message = "The database is not available."

    def __init__(self, reason: str = "") -> None:
        PluginUnavailable.__init__(self, details={"retryAfter": 1})
        self.reason = reason


class DatabaseClosed(DatabaseUnavailable):
    """The database was closed before. Nothing was written."""


class DatabaseAbsent(DatabaseUnavailable):
    """The database to read is missing: no file, or no tables in it."""


class NotReplicated(DatabaseUnavailable):
    """The server has committed, but its synchronous standby did not confirm in time. A failover may still lose the
    write."""


class DatabaseMismatch(DatabaseError, StorageMismatch):
    """The stored data differs from the data that the service wrote."""

    def __init__(self, reason: str = "") -> None:
        StorageMismatch.__init__(self)
        self.reason = reason


class DatabaseReplaced(DatabaseMismatch):
    """The file was replaced or removed under the open connections. Further writes to them would be lost."""


class DatabaseDamaged(DatabaseMismatch):
    """The file is not a database, or it is broken."""


class ConstraintViolated(DatabaseError):
    """A row would break a UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule. Only the job that tried it was undone."""


class DatabaseForbidden(DatabaseError):
    """The role of the connection lacks the permission."""


class ValueNotStorable(DatabaseError, InvalidRequest):
    """A value that the database cannot store or compare, such as a text with U+0000 on PostgreSQL. It came from a
    client, and no row has it."""

    def __init__(self, reason: str = "") -> None:
        InvalidRequest.__init__(self, "A text of the request has a character that cannot be stored.")
        self.reason = reason


class MigrationFailed(DatabaseError):
    """The tables cannot be upgraded to the form that this version of the program needs."""


class MigrationPending(MigrationFailed):
    """The tables are of an older version, and were opened read-only."""


DATABASES: Final = "identity.databases"
"""Entry points of ``Database`` classes, made from URL, ``writer_lock`` and number of readers. ``look_at(url)`` returns a ``Look``."""
BUCKETS: Final = "identity.buckets"
"""Entry points of ``TokenBucketStorage`` classes, made from ``async+tokenbucket+`` and the URL."""


@cache
def load_driver(group: str, scheme: str) -> Any:
    """Return the driver of ``group`` for URLs of ``scheme``. Raises ``DatabaseUnavailable``: when none is installed."""
    for found in entry_points(group=group, name=scheme):
        try:
            return found.load()
        except ImportError as error:
            raise DatabaseUnavailable(f"the driver for {scheme}:// cannot be loaded: {error}") from error
    raise DatabaseUnavailable(f"no driver for {scheme}:// is installed")


def driver_of(group: str, url: str) -> Any:
    """Return the driver of ``group`` for ``url``. Raises ``DatabaseUnavailable``: when none is installed."""
    return load_driver(group, url.partition(":")[0])
