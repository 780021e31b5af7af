"""The port of a database, its errors, and the drivers that distributions register as entry points by the scheme of a URL.

SQL is written by hand, with ``:name`` parameters, once for both dialects: times are integers (microseconds since 1970,
UTC), bytes are BLOB or BYTEA, conflicts are ``ON CONFLICT``, what was written comes back by ``RETURNING``.

What a client may be told of an error is a refusal of the service at the same time. ``reason`` is for the operator: it may name a path or
a server. What the client sees never does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeVar

from identity_codec.values import value_class
from identity_core.errors import InvalidRequest, Overloaded, PluginUnavailable, StorageMismatch

T = TypeVar("T")

Dialect = Literal["sqlite", "postgresql"]

MAPPED_MEBIBYTES = 0
"""The default number of MiB of an SQLite file that a connection maps into memory."""

READERS = 3
"""Connections for reading that a database on a server opens at most, unless told otherwise."""

Parameters = Mapping[str, object] | Sequence[object]

NOTHING: Parameters = MappingProxyType({})


class Cursor(Protocol):
    """The rows of one statement."""

    @property
    def rowcount(self) -> int:
        """How many rows an INSERT, UPDATE or DELETE touched."""

    def fetchone(self) -> Any:
        """The next row as a tuple, or None."""

    def fetchall(self) -> list[Any]:
        """The remaining rows as tuples."""


class Transaction(Protocol):
    """The interface with which a job reads and writes. It is the job's only while the job runs."""

    @property
    def group(self) -> int:
        """Numbers the writer's transactions: jobs that see the same number are committed together or not at all."""

    def execute(self, sql: str, parameters: Parameters = NOTHING, /) -> Cursor:
        """Runs one statement. Its parameters are ``:name``, or ``?`` for a sequence of them, which SQLite binds in a third less of the
        time."""

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Cursor:
        """Runs a statement that changes rows once for each of ``rows``, which are in the places of its ``?``; ``rowcount`` adds up. Half
        of what as many statements cost is saved, and on a server all journeys but one."""


Job = Callable[[Transaction], T]


class Database(Protocol):
    """Reads and writes by jobs: plain functions of a ``Transaction``.

    A job must be short and do nothing but SQL and arithmetic: it may be run again, when a neighbour of its group raised or a server
    has undone the group, and then sees another ``Transaction.group``. Every method may raise ``DatabaseUnavailable``. What a job
    raises itself reaches its caller unchanged; the driver's errors arrive as those of this room.
    """

    @property
    def dialect(self) -> Dialect:
        """Which SQL it speaks, where the two differ."""

    @property
    def read_only(self) -> bool:
        """Whether it was opened to be looked at: every write is refused, and nothing on the disk changes."""

    def require_in_place(self) -> None:
        """Raises ``DatabaseReplaced`` when the file is no longer the one that was opened. On a server nothing is asked."""

    async def read(self, job: Job[T]) -> T:
        """Runs a job that only reads what is committed. Each statement sees its own moment: what must agree is one.

        SQLite: at once, on the calling thread, so keep to look-ups by key and short pages. PostgreSQL: on a reader's
        thread.
        """

    def look_up(self, sql: str, parameters: Mapping[str, object]) -> Awaitable[list[Any]]:
        """The rows of one SELECT that finds a few by an index, as they are committed. PostgreSQL is asked at the call, so that several may
        be under way at once, and no thread waits."""

    def read_now(self, job: Job[T]) -> T:
        """The same without an event loop; on PostgreSQL it blocks the caller, so it is for start-up and commands."""

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
        """One durable transaction without an event loop: for start-up and commands, never beside queued jobs."""

    def foreign_changes(self) -> int | None:
        """Return a number that changes whenever another writer than this object's has committed; None where that is
        expensive to read (PostgreSQL)."""

    def load(self) -> DatabaseLoad:
        """How much this object has to do, and has done."""

    async def close(self) -> None:
        """Finishes what is queued and lets go of files and connections. A second time is no error."""


@value_class
class DatabaseLoad:
    """``waiting`` jobs of at most ``limit``; ``jobs`` and ``groups`` since the start: their quotient is how many share a commit.
    ``repeated`` groups were undone by the server for the sake of another process, and begun again. ``reads``, look-ups
    among them, are under way or wait for one of ``readers``, the connections for them in this process; 0 where reads wait for none.
    ``failed`` groups were not committed, since the start."""

    waiting: int
    limit: int
    jobs: int
    groups: int
    repeated: int = 0
    reads: int = 0
    readers: int = 0
    failed: int = 0


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
    """The database was closed before; nothing was written."""


class DatabaseAbsent(DatabaseUnavailable):
    """There is nothing to look at: no file, or no tables in it."""


class NotReplicated(DatabaseUnavailable):
    """The server has committed, and gave up waiting for its synchronous standby: a failover may still lose the write."""


class DatabaseMismatch(DatabaseError, StorageMismatch):
    """The stored data differs from the data that was written."""

    def __init__(self, reason: str = "") -> None:
        StorageMismatch.__init__(self)
        self.reason = reason


class DatabaseReplaced(DatabaseMismatch):
    """The file was replaced or removed under the open connections: what is written to them would be gone with them."""


class DatabaseDamaged(DatabaseMismatch):
    """The file is not a database, or a broken one."""


class ConstraintViolated(DatabaseError):
    """A row would break a UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule; the job that tried was undone, alone."""


class DatabaseForbidden(DatabaseError):
    """The role that the server knows us by may not do that."""


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


DATABASES: Final = "identity.databases"
"""Classes whose instances are a ``Database``, made from URL, ``writer_lock`` and number of readers. ``look_at(url)`` returns a ``Look``."""
BUCKETS: Final = "identity.buckets"
"""Subclasses of ``TokenBucketStorage``, made from ``async+tokenbucket+`` and the URL."""


@cache
def load_driver(group: str, scheme: str) -> Any:
    """Return the driver of ``group`` for URLs of ``scheme``. Raises ``DatabaseUnavailable``."""
    for found in entry_points(group=group, name=scheme):
        try:
            return found.load()
        except ImportError as error:
            raise DatabaseUnavailable(f"the driver for {scheme}:// cannot be loaded: {error}") from error
    raise DatabaseUnavailable(f"no driver for {scheme}:// is installed")


def driver_of(group: str, url: str) -> Any:
    """Return the driver of ``group`` for ``url``. Raises ``DatabaseUnavailable``."""
    return load_driver(group, url.partition(":")[0])
