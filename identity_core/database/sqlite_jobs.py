"""The jobs of one group, in one transaction: a job that raises is undone alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from identity_core.database.errors import DatabaseUnavailable
from identity_core.database.group_commit import Pending, run_together
from identity_core.database.sqlite_connection import Connection, translated


def run_jobs(writer: Connection, jobs: Sequence[Pending]) -> None:
    """Runs the jobs, first as if none would raise. If one does, all start again with a savepoint for each, which takes three times
    as many statements. Raises ``DatabaseUnavailable`` or ``sqlite3.Error`` when the whole transaction is lost."""
    writer.execute("SAVEPOINT jobs")
    if not run_together(writer, jobs):
        _undo_to(writer, "jobs")
        writer.group += 1
        _run_apart(writer, jobs)


def _run_apart(writer: Connection, jobs: Sequence[Pending]) -> None:
    """Runs each job within a savepoint of its own: when it raises, only its own work is undone."""
    for pending in jobs:
        writer.execute("SAVEPOINT job")
        try:
            pending.result = pending.job(writer)
        # Whatever the job raises belongs to its caller, who is not here; the writer must outlive it.
        except Exception as error:  # noqa: BLE001
            pending.error = translated(error) if isinstance(error, sqlite3.Error) else error
            _undo_to(writer, "job")
        writer.execute("RELEASE job")


def _undo_to(writer: Connection, savepoint: str) -> None:
    """Raises ``DatabaseUnavailable`` when a full disk made SQLite undo everything: no one's work is left then."""
    if not writer.in_transaction:
        raise DatabaseUnavailable("the transaction was undone: is the disk full?")
    writer.execute(f"ROLLBACK TO {savepoint}")
