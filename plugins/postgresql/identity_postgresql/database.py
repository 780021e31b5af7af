"""A PostgreSQL server: one writing connection a process with group commit, a few for reading, each in its own thread, and one for look-ups
(``look_ups.py``).

Connections are made when they are needed, and again when they were lost. A read that met a dead connection is tried once
more; a write only when nothing of it had been sent, or when the server has undone all of it to end a circle of waiting processes.
When the connection breaks at COMMIT the outcome is unknown, and the group fails with ``DatabaseUnavailable``: the caller must look, not
guess. A COMMIT that a timeout frees from waiting for the synchronous standby ends, for PostgreSQL, in success and a warning; here it is
``NotReplicated``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from identity_codec.values import replace
from identity_core.database.group_commit import GroupCommit, Pending, WriterThread, hop
from identity_core.database.interface import (
    READERS,
    DatabaseClosed,
    DatabaseError,
    DatabaseLoad,
    DatabaseUnavailable,
    Dialect,
    Job,
    NotReplicated,
    T,
)
from identity_core.database.read_only import Look
from identity_postgresql.look_ups import LookUps
from identity_postgresql.session import READ_ONLY, PostgresqlSession, run_jobs, translated

RUNS = 3
"""How often a group is begun at most. The server needs a second (``deadlock_timeout``) to see a circle, a request may take five."""

UNDONE = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
"""What ends a transaction for the sake of another one; nothing of it is committed."""

SESSION = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    # Else a server that is gone without a word while it owes an answer is waited for as long as the system says: two hours.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "application_name": "identity",
}
# A replica that freezes while it holds the head of the ledger must not stop the others for good. No statement here is so long that
# compiling it (jit) pays: where the server has no statistics yet, one that takes 1 ms was compiled for 20. Not sent as ``options`` of the
# connection, which PgBouncer refuses.
LIMITS = "SET jit = off; SET lock_timeout = '5s'; SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '10s'"


_SERVED_BY = "SELECT pg_backend_pid()"
NO_SESSION = (
    "a pooler gives two sessions one connection of the server: set pool_mode = session (PgBouncer) for this database"
)


@contextmanager
def _failures() -> Iterator[None]:
    """Raise the error of this package for one of the driver's."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error


def _settings_of(url: str) -> dict[str, Any]:
    try:
        return {**SESSION, **conninfo_to_dict(url)}
    except psycopg.ProgrammingError as error:
        raise DatabaseUnavailable("the database URL cannot be read") from error


class PostgresqlDatabase:
    """``interface.Database`` on a PostgreSQL server."""

    dialect: Dialect = "postgresql"
    read_only = False

    def __init__(self, url: str, writer_lock: str = "", readers: int = READERS) -> None:
        """``writer_lock`` is the statement that each group of ``write`` begins with; ``readers`` are the connections for reading."""
        self._most = readers
        self._writer_lock = writer_lock
        self._settings = _settings_of(url)
        self._writer = PostgresqlSession(lambda: self._connect(target_session_attrs="read-write"))
        self._local = threading.local()
        self._sessions: list[PostgresqlSession] = []
        self._reads: set[Future[Any]] = set()
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="database reader")
        self._look_ups = LookUps(self._connect, self._readers)
        self._worker = WriterThread("database writer")
        # Where the event loop dies under a group, the thread finishes it all the same.
        self._queue = GroupCommit(self._perform, self._worker.wait)
        self.write = self._queue.submit
        try:
            # Says at the start what would else be said at the first request.
            with _failures(), self._connect() as other:
                served = other.execute(_SERVED_BY).fetchone()
                if self.read_now(lambda transaction: transaction.execute(_SERVED_BY).fetchone()) == served:
                    raise DatabaseUnavailable(NO_SESSION)
        except DatabaseError:
            self._stop()
            raise

    @staticmethod
    def look_at(url: str) -> Look:
        """Return a connection on which the driver begins each transaction with BEGIN READ ONLY.

        So the server refuses every change, and a pooler keeps no state of it. Raises ``DatabaseUnavailable``.
        """
        settings = _settings_of(url)

        def connect() -> psycopg.Connection[Any]:
            connection = psycopg.connect(**settings)
            connection.read_only = True
            return connection

        session = PostgresqlSession(connect)
        with ExitStack() as stack:
            stack.callback(session.drop)
            with _failures():
                session.read(lambda transaction: transaction.execute("SELECT 1").fetchone())
                session.connection().rollback()
            return Look("postgresql", session, session.connection(), stack.pop_all(), psycopg.Error, translated)

    def _connect(self, **extra: str) -> psycopg.Connection[Any]:
        connection = psycopg.connect(autocommit=True, **{**extra, **self._settings})
        if "options" not in self._settings:
            connection.execute(LIMITS, prepare=False)
        return connection

    def require_in_place(self) -> None:
        """Do nothing, because a server has no file that could be replaced."""

    # Reading

    async def read(self, job: Job[T]) -> T:
        return await asyncio.wrap_future(self._submit_read(job))

    def read_now(self, job: Job[T]) -> T:
        return self._submit_read(job).result()

    def _submit_read(self, job: Job[T]) -> Future[T]:
        try:
            reading = self._readers.submit(self._read_on_thread, job)
        except RuntimeError as error:
            raise DatabaseClosed("the database is closed") from error
        self._reads.add(reading)
        reading.add_done_callback(self._reads.discard)
        return reading

    def _read_on_thread(self, job: Job[T]) -> T:
        session: PostgresqlSession | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = PostgresqlSession(self._connect)
            self._sessions.append(session)
        with _failures():
            return session.read(job)

    def look_up(self, sql: str, parameters: Mapping[str, object]) -> Awaitable[list[Any]]:
        if self._queue.closed:
            raise DatabaseClosed("the database is closed")
        return self._look_ups.ask(sql, parameters)

    def foreign_changes(self) -> int | None:
        """See ``Database.foreign_changes``: it would cost a journey to the server."""
        return None

    # Writing

    def load(self) -> DatabaseLoad:
        return replace(self._queue.load, reads=len(self._reads) + self._look_ups.under_way, readers=self._most + 1)

    def write_now(self, job: Job[T]) -> T:
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
            self._roll_back(anew=isinstance(error, READ_ONLY))
            result.set_exception(translated(error) if isinstance(error, psycopg.Error) else error)
        else:
            result.set_result(value)

    def _perform(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        self._worker.submit(lambda: self._run(loop, group))

    def _run(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """On the thread: the whole group, from BEGIN to COMMIT; again where the server has undone it."""
        error: DatabaseError | None = None
        for run in range(1, RUNS + 1):
            try:
                self._commit([pending for pending in group if pending.is_wanted])
                error = None
            except NotReplicated as failure:
                error = failure
            except psycopg.Error as failure:
                error = translated(failure)
                self._roll_back(anew=isinstance(failure, READ_ONLY))
                if isinstance(failure, UNDONE) and run < RUNS:
                    self._queue.repeated += 1
                    continue
            break
        hop(loop, self._finish, group, error)

    def _commit(self, wanted: Sequence[Pending]) -> None:
        if not wanted:
            return
        for pending in wanted:
            # Of a run that was undone.
            pending.error = None
        is_durable, is_heavy = any(one.durable for one in wanted), any(one.heavy for one in wanted)
        self._writer.begin(durable=is_durable, heavy=is_heavy, savepoint="jobs", lock=self._writer_lock)
        run_jobs(self._writer, wanted)
        self._writer.commit()

    def _finish(self, group: Sequence[Pending], error: DatabaseError | None) -> None:
        self._queue.deliver(group, error)
        self._queue.proceed()

    def _roll_back(self, *, anew: bool) -> None:
        """``anew``: the next group needs another connection."""
        try:
            self._writer.command("ROLLBACK")
        except psycopg.Error:
            anew = True
        if anew:
            self._writer.drop()

    async def close(self) -> None:
        if self._queue.closed:
            return
        await self._queue.drain()
        self._look_ups.close()
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        self._worker.stop()
        self._readers.shutdown()
        for session in (self._writer, *self._sessions):
            session.drop()
