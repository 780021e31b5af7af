"""Tables from numbered SQL files: ``0001_what_it_does.sql`` in the package's folder, each run once, in order.

If the dialects differ, two files have one number: ``0001_x.sqlite.sql`` and ``0001_x.postgresql.sql``. A statement
ends with a semicolon at the end of a line. The table ``<prefix>migrations`` stores the names of the files that ran
and their SHA-256. So an edited file or a database from a newer version stops the start and cannot damage data. There
are no downgrades: restore a backup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextvars import ContextVar
from importlib import resources
from typing import Final

from msgspec import Struct

from identity_core.database.interface import (
    Database,
    DatabaseAbsent,
    DatabaseError,
    DatabaseForbidden,
    DatabaseMismatch,
    DatabaseUnavailable,
    MigrationFailed,
    MigrationPending,
    Transaction,
)

_FILE = re.compile(r"([0-9]{4})_[a-z0-9_]+(?:\.(sqlite|postgresql))?\.sql", re.ASCII)
_PREFIX = re.compile(r"[a-z][a-z0-9_]*_", re.ASCII)
_MAY_UPGRADE: Final[ContextVar[bool]] = ContextVar("whether tables of an older version are brought up", default=True)


def refuse_upgrades() -> None:
    """Make ``migrate`` refuse tables of an older version from now on in this context. The running version could not
    read them after an upgrade."""
    _MAY_UPGRADE.set(False)


class Step(Struct, frozen=True):
    """One numbered file."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self) -> list[str]:
        """Return the file's statements. A part that has only comments is not a statement."""
        bare = re.sub(r"^\s*--.*$", "", self.text, flags=re.MULTILINE)
        return [part for part in (part.strip() for part in re.split(r";[ \t]*(?:\n|\Z)", bare)) if part]


Adopt = Callable[[Transaction], int]
"""Function that returns the number of steps that another migration tool has run, and removes the records of that tool."""


def migrate(database: Database, package: str, prefix: str, *, adopt: Adopt | None = None) -> None:
    """Run the new SQL files of ``package`` (a dotted name), in one transaction.

    ``prefix``: the prefix of the package's tables, such as ``ledger_``.

    Several processes may call it at once. A read-only database is compared with the files and not changed.

    Raises ``DatabaseAbsent``: when a read-only database has no such tables; ``MigrationPending``: when it lacks
    files, or after ``refuse_upgrades``; ``MigrationFailed``; ``DatabaseUnavailable``.
    """
    if _PREFIX.fullmatch(prefix) is None:
        raise ValueError(f"not a table prefix: {prefix!r}")
    steps, table = _steps(package, database.dialect), f"{prefix}migrations"
    try:
        missing = database.read_now(lambda transaction: _missing(transaction, table, steps))
    except (DatabaseUnavailable, DatabaseMismatch, DatabaseForbidden, MigrationFailed):
        raise
    except DatabaseError as error:
        if database.read_only:
            raise DatabaseAbsent(f"there are no tables {prefix}*") from error
        missing = steps
    if missing and database.read_only:
        raise MigrationPending(f"{table}: {missing[0].name} has yet to run")
    if missing:
        database.write_now(lambda transaction: _run(transaction, database.dialect, table, steps, adopt))


def _steps(package: str, dialect: str) -> list[Step]:
    found = []
    for file in resources.files(package).iterdir():
        match = _FILE.fullmatch(file.name)
        if match is not None and match[2] in (None, dialect):
            found.append(Step(int(match[1]), file.name, file.read_text("utf-8")))
    steps = sorted(found, key=lambda step: step.number)
    if [step.number for step in steps] != list(range(1, len(steps) + 1)):
        what = f"{package}: the files for {dialect} are not numbered 0001, 0002, … without gap or double"
        raise MigrationFailed(what)
    return steps


def _missing(transaction: Transaction, table: str, steps: list[Step]) -> list[Step]:
    """Return the steps that did not run yet. Raises ``MigrationFailed``: for a database of a newer version, or steps
    that were edited."""
    done = {row[0]: row[1:] for row in transaction.execute(f"SELECT number, name, digest FROM {table}").fetchall()}  # noqa: S608
    if done and max(done) > len(steps):
        raise MigrationFailed(f"{table}: the database was made by a newer version (step {done[max(done)][0]})")
    for step in steps:
        if step.number in done and done[step.number][1] != step.digest:
            raise MigrationFailed(f"{step.name} was changed after it ran; write a new step instead")
    return [step for step in steps if step.number not in done]


def _run(transaction: Transaction, dialect: str, table: str, steps: list[Step], adopt: Adopt | None) -> None:
    if dialect == "postgresql":
        # CREATE TABLE IF NOT EXISTS has a race with itself on PostgreSQL, so the lock must come first.
        transaction.execute("SELECT pg_advisory_xact_lock(hashtext(:name))", {"name": f"identity {table}"})
    adopted = 0 if adopt is None else adopt(transaction)
    columns = "number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL"
    transaction.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
    missing = _missing(transaction, table, steps)
    if missing and (adopted or len(missing) < len(steps)) and not _MAY_UPGRADE.get():
        raise MigrationPending(f"{table}: {missing[0].name} has yet to run")
    for step in missing:
        for statement in step.statements() if step.number > adopted else ():
            transaction.execute(statement)
        values = {"number": step.number, "name": step.name, "digest": step.digest}
        transaction.execute(f"INSERT INTO {table} (number, name, digest) VALUES (:number, :name, :digest)", values)  # noqa: S608
