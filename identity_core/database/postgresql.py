"""A PostgreSQL server: one writing connection a process with group commit, a few for reading, each in its own thread.

Connections are made when they are needed, and again when they were lost. A read that met a dead connection is tried once
more; a write only when nothing of it had been sent. When the connection breaks at COMMIT the outcome is unknown, and
the group fails with ``DatabaseUnavailable``: the caller must look, not guess. A COMMIT that a timeout frees from waiting for the
synchronous standby ends, for PostgreSQL, in success and a warning; here it is ``NotReplicated``.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any

from identity_core.database.errors import ConstraintViolated, DatabaseError, DatabaseUnavailable, NotReplicated
from identity_core.database.group_commit import GroupCommit, Pending, Worker, hop
from identity_core.database.interface import NOTHING, Cursor, Dialect, Job, T

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as missing:
    raise DatabaseUnavailable("PostgreSQL needs psycopg: install identity-service[postgresql]") from missing

READERS = 4
# A replica that freezes while it holds the head of the ledger must not stop the others for good.
SESSION = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "application_name": "identity",
    "options": "-c lock_timeout=5s -c statement_timeout=30s -c idle_in_transaction_session_timeout=10s",
}
# The timeout also ends the wait for a standby that is away, before the caller's own patience does.
BEGIN_DURABLE = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout TO '3s'"
BEGIN_LAZY = f"{BEGIN_DURABLE}; SET LOCAL synchronous_commit TO off"

# The function of the server whose warning says so; its text is in the server's language.
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=1024)
def translated_sql(sql: str) -> str:
    """``:name`` as psycopg writes it."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class Session:
    """One connection, and the ``Transaction`` that jobs get; ``group`` counts the BEGINs."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._replicated = True
        self.group = 0

    def execute(self, sql: str, parameters: Mapping[str, object] = NOTHING, /) -> Cursor:
        """See ``Transaction.execute``. Never connects: what follows a lost connection would not be one transaction."""
        return self._open().execute(translated_sql(sql), parameters)

    def command(self, sql: str) -> None:
        """Commands without parameters or rows, several at a time."""
        self._open().execute(sql, prepare=False)

    def begin(self, *, durable: bool, savepoint: str) -> None:
        """Opens a transaction with a savepoint at its start; a connection that died since its last use is replaced once."""
        begin = f"{BEGIN_DURABLE if durable else BEGIN_LAZY}; SAVEPOINT {savepoint}"
        self._on_a_live_connection(lambda: self.command(begin))
        self.group += 1

    def read(self, job: Job[T]) -> T:
        """Runs a reading job, once more when the connection had died."""
        return self._on_a_live_connection(lambda: job(self))

    def _on_a_live_connection(self, step: Callable[[], T]) -> T:
        if not self.connection_is_lost():
            try:
                return step()
            except psycopg.OperationalError:
                if not self.connection_is_lost():
                    raise
        self.drop()
        self._connection = self._connect()
        self._connection.add_notice_handler(self._noticed)
        return step()

    def commit(self) -> None:
        """Raises ``NotReplicated`` when the server did not wait for its standby to the end."""
        self._replicated = True
        self.command("COMMIT")
        if not self._replicated:
            raise NotReplicated("the synchronous standby has not confirmed the commit")

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.source_function == _WAIT_FOR_STANDBY:
            self._replicated = False

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            raise psycopg.OperationalError("the connection is lost")
        return self._connection

    def connection_is_lost(self) -> bool:
        """Whether there is no connection that could still work."""
        return self._connection is None or bool(self._connection.closed)

    def drop(self) -> None:
        """Closes the connection, whatever state it is in."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


class PostgresqlDatabase:
    """See ``interface.Database``."""

    dialect: Dialect = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise DatabaseUnavailable("the database URL cannot be read") from error
        self._settings: dict[str, Any] = {**SESSION, **given}
        self._writer = Session(lambda: self._connect(target_session_attrs="read-write"))
        self._local = threading.local()
        self._sessions: list[Session] = []
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="database reader")
        self._queue = GroupCommit(self._perform, self._recover)
        self._worker = Worker("database writer")
        try:
            # Says at the start what would else be said at the first request.
            self.read_now(lambda transaction: transaction.execute("SELECT 1").fetchone())
        except DatabaseError:
            self._stop()
            raise

    def _connect(self, **extra: str) -> psycopg.Connection[Any]:
        return psycopg.connect(autocommit=True, **{**extra, **self._settings})

    # Reading

    async def read(self, job: Job[T]) -> T:
        """See ``Database.read``."""
        return await asyncio.wrap_future(self._submit_read(job))

    def read_now(self, job: Job[T]) -> T:
        """See ``Database.read_now``."""
        return self._submit_read(job).result()

    def _submit_read(self, job: Job[T]) -> Future[T]:
        try:
            return self._readers.submit(self._read_on_thread, job)
        except RuntimeError as error:
            raise DatabaseUnavailable("the database is closed") from error

    def _read_on_thread(self, job: Job[T]) -> T:
        session: Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = Session(self._connect)
            self._sessions.append(session)
        try:
            return session.read(job)
        except psycopg.Error as error:
            raise translated(error) from error

    def foreign_changes(self) -> int | None:
        """See ``Database.foreign_changes``: it would cost a journey to the server."""
        return None

    def change_counter(self) -> int | None:
        """See ``Database.change_counter``."""
        return None

    # Writing

    def write(self, job: Job[T], *, durable: bool = True) -> asyncio.Future[T]:
        """See ``Database.write``."""
        return self._queue.submit(job, durable=durable)

    def write_now(self, job: Job[T]) -> T:
        """See ``Database.write_now``."""
        if self._queue.busy:
            raise RuntimeError("write_now() would cut into a queued transaction")
        result: Future[T] = Future()
        self._worker.submit(lambda: self._write_on_thread(job, result))
        return result.result()

    def _write_on_thread(self, job: Job[T], result: Future[T]) -> None:
        try:
            self._writer.begin(durable=True, savepoint="jobs")
            value = job(self._writer)
            self._writer.commit()
        # The caller waits in another thread; whatever was raised belongs to it.
        except Exception as error:  # noqa: BLE001
            self._roll_back()
            result.set_exception(translated(error) if isinstance(error, psycopg.Error) else error)
        else:
            result.set_result(value)

    def _perform(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        self._worker.submit(lambda: self._run(loop, group))

    def _run(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """On the thread: the whole group, from BEGIN to COMMIT."""
        error: DatabaseError | None = None
        wanted = [pending for pending in group if not pending.future.done()]
        try:
            if wanted:
                self._writer.begin(durable=any(pending.durable for pending in wanted), savepoint="jobs")
                self._run_jobs(wanted)
                self._writer.commit()
        except NotReplicated as failure:
            error = failure
        except psycopg.Error as failure:
            error = translated(failure)
            self._roll_back()
        hop(loop, self._finish, group, error)

    def _run_jobs(self, wanted: Sequence[Pending]) -> None:
        """Runs the jobs, first as if none would raise: a savepoint for each is a second journey to the server for each. Raises
        ``psycopg.Error`` when the connection is gone."""
        if not self._run_together(wanted):
            self._writer.command("ROLLBACK TO SAVEPOINT jobs")
            self._writer.group += 1
            self._run_apart(wanted)

    def _run_together(self, jobs: Sequence[Pending]) -> bool:
        """False when a job raised; what all of them did is then to be undone."""
        try:
            for pending in jobs:
                pending.result = pending.job(self._writer)
        # A lock or an answer that did not come would not come for the next job either.
        except psycopg.OperationalError:
            raise
        # Nobody is told yet: the job runs again, by itself, and its caller gets what it raises then.
        except Exception:  # noqa: BLE001
            return False
        return True

    def _run_apart(self, jobs: Sequence[Pending]) -> None:
        """Runs each job within a savepoint of its own: when it raises, only its own work is undone."""
        writer = self._writer
        savepoint = "SAVEPOINT job"
        for pending in jobs:
            writer.command(savepoint)
            try:
                pending.result = pending.job(writer)
                savepoint = "RELEASE SAVEPOINT job; SAVEPOINT job"
            # Whatever the job raises belongs to its caller, who is not here; the writer must outlive it.
            except Exception as error:
                if isinstance(error, psycopg.OperationalError) or writer.connection_is_lost():
                    raise
                pending.error = translated(error) if isinstance(error, psycopg.Error) else error
                savepoint = "ROLLBACK TO SAVEPOINT job; RELEASE SAVEPOINT job; SAVEPOINT job"
        if savepoint.startswith("ROLLBACK"):
            writer.command("ROLLBACK TO SAVEPOINT job")

    def _finish(self, group: Sequence[Pending], error: DatabaseError | None) -> None:
        self._queue.deliver(group, error)
        self._queue.proceed()

    def _roll_back(self) -> None:
        try:
            self._writer.command("ROLLBACK")
        except psycopg.Error:
            self._writer.drop()

    def _recover(self) -> None:
        """The event loop died under a group; the thread finishes it all the same."""
        done = threading.Event()
        self._worker.submit(done.set)
        done.wait()

    async def close(self) -> None:
        """See ``Database.close``."""
        if self._queue.closed:
            return
        await self._queue.drain()
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._worker.stop()
        self._readers.shutdown()
        for session in (self._writer, *self._sessions):
            session.drop()


def translated(error: psycopg.Error) -> DatabaseError:
    """The error of this room for one of the driver's: what the server, the network or a neighbour does is
    ``DatabaseUnavailable``, a fault in the SQL itself a plain ``DatabaseError``."""
    if isinstance(error, psycopg.IntegrityError):
        return ConstraintViolated(str(error))
    # Operational: connection, shutdown, disk full, deadlock, lock timeout. Internal: the server's own faults.
    if isinstance(error, psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError):
        return DatabaseUnavailable(str(error))
    return DatabaseError(str(error))
