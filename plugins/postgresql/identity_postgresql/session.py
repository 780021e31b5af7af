"""One connection to PostgreSQL, and how a group of jobs runs on it."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors, generators, pq

from identity_core.database.group_commit import Pending, run_together
from identity_core.database.interface import (
    NOTHING,
    ConstraintViolated,
    Cursor,
    DatabaseError,
    DatabaseForbidden,
    DatabaseUnavailable,
    Job,
    NotReplicated,
    Parameters,
    T,
    ValueNotStorable,
)

# How long a COMMIT waits for its standby: less than the core's deadline for a ledger. ``statement_timeout`` does not end that wait,
# because the server stops its clock before it commits.
COMMIT_SECONDS = 3
BEGIN_DURABLE = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout TO '3s'"
BEGIN_LAZY = f"{BEGIN_DURABLE}; SET LOCAL synchronous_commit TO off"

# A step of many takes the first rows in the order of an index. Where the server thinks that few fit, for want of statistics, it would read
# and sort all of them; and to plan for the values of each step it looks for the end of the index, among the rows that were just deleted.
STEADY = "; SET LOCAL enable_sort TO off; SET LOCAL enable_bitmapscan TO off; SET LOCAL plan_cache_mode TO force_generic_plan"

# The function of the server whose warning says so; its text is in the server's language.
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"

READ_ONLY = psycopg.errors.ReadOnlySqlTransaction
"""SQLSTATE 25006: the server, the database or the session has turned read-only."""
FATAL = (psycopg.OperationalError, READ_ONLY)

PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=1024)
def translated_sql(sql: str) -> str:
    """``:name`` and ``?`` as psycopg writes them."""
    return PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%").replace("?", "%s"))


class PostgresqlSession:
    """One connection, and the ``Transaction`` that jobs get; ``group`` counts the BEGINs."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self._replicated = True
        self.group = 0

    def execute(self, sql: str, parameters: Parameters = NOTHING, /) -> Cursor:
        """See ``Transaction.execute``. Never connects: what follows a lost connection would not be one transaction."""
        return self.connection().execute(translated_sql(sql), parameters)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Cursor:
        """See ``Transaction.executemany``."""
        if len(rows) == 1:
            return self.execute(sql, rows[0])
        cursor = self.connection().cursor()
        cursor.executemany(translated_sql(sql), rows)
        return cursor

    def command(self, sql: str) -> None:
        """Commands without parameters or rows, several at a time."""
        self.connection().execute(sql, prepare=False)

    def begin(self, *, durable: bool, savepoint: str, heavy: bool = False, lock: str = "") -> None:
        """Open a transaction, run the statement ``lock`` and set a savepoint. A connection that failed since its last use is
        replaced once."""
        # Before the savepoint: who goes back to that keeps the lock.
        opening = f"{BEGIN_DURABLE if durable else BEGIN_LAZY}{STEADY if heavy else ''}"
        begin = "; ".join(filter(None, (opening, lock, f"SAVEPOINT {savepoint}")))
        self._on_a_live_connection(lambda: self.command(begin))
        self.group += 1

    def read(self, job: Job[T]) -> T:
        """Run a reading job, once more when the connection had died."""
        return self._on_a_live_connection(lambda: job(self))

    def _on_a_live_connection(self, step: Callable[[], T]) -> T:
        if not self.connection_is_lost():
            try:
                return step()
            except FATAL as error:
                # A server that was demoted keeps its connections: behind the same name there may be one that takes writes by now.
                if not self.connection_is_lost() and not isinstance(error, READ_ONLY):
                    raise
        self.drop()
        self._connection = self._connect()
        self._connection.add_notice_handler(self._noticed)
        return step()

    def commit(self) -> None:
        """Commit. After ``COMMIT_SECONDS`` cancel the server's wait for its standby.

        Raises ``NotReplicated``: when the server did not wait for its standby to the end."""
        self._replicated, connection = True, self.connection()
        connection.pgconn.send_query(b"COMMIT")
        answer = select.poll()
        answer.register(connection.fileno(), select.POLLIN)
        if not answer.poll(COMMIT_SECONDS * 1000):
            connection.cancel_safe(timeout=1)
        results = connection.wait(generators.execute(connection.pgconn))
        if [result.status for result in results] != [pq.ExecStatus.COMMAND_OK]:
            raise errors.error_from_result(results[-1]) if results else psycopg.OperationalError("no result of COMMIT")
        if not self._replicated:
            raise NotReplicated("the synchronous standby has not confirmed the commit")

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.source_function == _WAIT_FOR_STANDBY:
            self._replicated = False

    def connection(self) -> psycopg.Connection[Any]:
        """Return the one that is open. Raises ``psycopg.OperationalError`` where there is none."""
        if self._connection is None:
            raise psycopg.OperationalError("the connection is lost")
        return self._connection

    def connection_is_lost(self) -> bool:
        """Return whether there is no connection that could still work."""
        return self._connection is None or bool(self._connection.closed)

    def drop(self) -> None:
        """Close the connection, whatever state it is in."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = None


def run_jobs(writer: PostgresqlSession, wanted: Sequence[Pending]) -> None:
    """Run the jobs, first as if none would raise: a savepoint for each is a second journey to the server for each. Raises
    ``psycopg.Error`` when the connection is gone."""
    # A lock or an answer that did not come would not come for the next job either.
    if not run_together(writer, wanted, fatal=FATAL):
        writer.command("ROLLBACK TO SAVEPOINT jobs")
        writer.group += 1
        _run_apart(writer, wanted)


def _run_apart(writer: PostgresqlSession, jobs: Sequence[Pending]) -> None:
    """Run each job within a savepoint of its own: when it raises, only its own work is undone."""
    savepoint = "SAVEPOINT job"
    for pending in jobs:
        writer.command(savepoint)
        try:
            pending.result = pending.job(writer)
            savepoint = "RELEASE SAVEPOINT job; SAVEPOINT job"
        # Whatever the job raises belongs to its caller, who is not here; the writer must outlive it.
        except Exception as error:
            if isinstance(error, FATAL) or writer.connection_is_lost():
                raise
            pending.error = translated(error) if isinstance(error, psycopg.Error) else error
            savepoint = "ROLLBACK TO SAVEPOINT job; RELEASE SAVEPOINT job; SAVEPOINT job"
    if savepoint.startswith("ROLLBACK"):
        writer.command("ROLLBACK TO SAVEPOINT job")


def translated(error: psycopg.Error) -> DatabaseError:
    """Return the error of this room for one of the driver's: what the server, the network or a neighbour does is
    ``DatabaseUnavailable``, a value that it has no form for ``ValueNotStorable``, a fault in the SQL itself a plain ``DatabaseError``."""
    if isinstance(error, psycopg.IntegrityError):
        return ConstraintViolated(str(error))
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return DatabaseForbidden(str(error))
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        # The driver could not write the value down; the server was not asked.
        return ValueNotStorable(str(error))
    # Operational: connection, shutdown, disk full, deadlock, lock timeout. Internal: the server's own faults.
    if isinstance(error, psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError):
        return DatabaseUnavailable(str(error))
    return DatabaseError(str(error))
