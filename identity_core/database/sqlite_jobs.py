"""The jobs of one group, in one transaction: a job that raises is undone alone."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence

from identity_core.database.errors import DatabaseUnavailable
from identity_core.database.group_commit import Pending
from identity_core.database.sqlite_connection import Connection, translated

TURN_SECONDS = 0.0005
"""How long the jobs of a group may keep the event loop to themselves."""


def run_jobs(writer: Connection, jobs: Sequence[Pending]) -> Iterator[None]:
    """Runs the jobs, first as if none would raise. If one does, all start again with a savepoint for each, which takes three times
    as many statements. Yields whenever others should have a turn. Raises ``DatabaseUnavailable`` or ``sqlite3.Error`` when the
    whole transaction is lost."""
    writer.execute("SAVEPOINT jobs")
    ends = time.perf_counter() + TURN_SECONDS
    try:
        for pending in jobs:
            if time.perf_counter() > ends:
                yield
                ends = time.perf_counter() + TURN_SECONDS
            pending.result = pending.job(writer)
    # Nobody is told yet: each job runs again by itself, and its caller gets what it raises then.
    except Exception:  # noqa: BLE001
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
    """Raises ``DatabaseUnavailable`` when a full disk made SQLite undo everything: nobody's work is left then."""
    if not writer.in_transaction:
        raise DatabaseUnavailable("the transaction was undone: is the disk full?")
    writer.execute(f"ROLLBACK TO {savepoint}")
