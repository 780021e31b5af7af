"""Tables by numbered SQL files: ``0001_what_it_does.sql`` in the package's folder, each run once, in order.

Where the dialects differ there are two files of one number, ``0001_x.sqlite.sql`` and ``0001_x.postgresql.sql``. A
statement ends with a semicolon at the end of a line. The table ``<prefix>migrations`` remembers what ran and its SHA-256,
so that an edited file or a database from a newer version stops the start instead of spoiling data. There is no way down:
restore a backup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextvars import ContextVar
from importlib import resources
from typing import Final

from identity_codec.values import value_class
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
    """Have ``migrate`` refuse tables of an older version from now on in this context: the version that serves could not read them after."""
    _MAY_UPGRADE.set(False)


@value_class
class Step:
    """One numbered file."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self) -> list[str]:
        """The file's statements; one of comments only is none."""
        bare = re.sub(r"^\s*--.*$", "", self.text, flags=re.MULTILINE)
        return [part for part in (part.strip() for part in re.split(r";[ \t]*(?:\n|\Z)", bare)) if part]


Adopt = Callable[[Transaction], int]
"""Returns how many steps another runner of migrations has made, and removes what that one remembers of them."""


def migrate(database: Database, package: str, prefix: str, *, adopt: Adopt | None = None) -> None:
    """Runs what is new among the SQL files of ``package`` (a dotted name), in one transaction.

    ``prefix`` is what the package's tables begin with, such as ``ledger_``. Several processes may call it at once. A database
    that is read-only is compared with the files and not changed: ``DatabaseAbsent`` where there are no such tables,
    ``MigrationPending`` where some files have yet to run, as after ``refuse_upgrades``. Raises ``MigrationFailed``,
    ``DatabaseUnavailable``.
    """
    if _PREFIX.fullmatch(prefix) is None:
        raise ValueError(f"not a table prefix: {prefix!r}")
    steps = _steps(package, database.dialect)
    try:
        _compare(database, prefix, steps)
    except (DatabaseAbsent, MigrationPending):
        if database.read_only:
            raise
        database.write_now(lambda transaction: _run(transaction, database.dialect, prefix, steps, adopt))


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


def _compare(database: Database, prefix: str, steps: list[Step]) -> None:
    table = f"{prefix}migrations"
    try:
        missing = database.read_now(lambda transaction: _missing(transaction, table, steps))
    except (DatabaseUnavailable, DatabaseMismatch, DatabaseForbidden, MigrationFailed):
        raise
    except DatabaseError as error:
        raise DatabaseAbsent(f"there are no tables {prefix}*") from error
    if missing:
        raise MigrationPending(f"{table}: {missing[0].name} has yet to run")


def _missing(transaction: Transaction, table: str, steps: list[Step]) -> list[Step]:
    """The steps that did not run yet. Raises ``MigrationFailed`` for a database of a newer version, or steps that were edited."""
    done = {row[0]: row[1:] for row in transaction.execute(f"SELECT number, name, digest FROM {table}").fetchall()}  # noqa: S608
    if done and max(done) > len(steps):
        raise MigrationFailed(f"{table}: the database was made by a newer version (step {done[max(done)][0]})")
    for step in steps:
        if step.number in done and done[step.number][1] != step.digest:
            raise MigrationFailed(f"{step.name} was changed after it ran; write a new step instead")
    return [step for step in steps if step.number not in done]


def _run(transaction: Transaction, dialect: str, prefix: str, steps: list[Step], adopt: Adopt | None) -> None:
    table = f"{prefix}migrations"
    if dialect == "postgresql":
        # CREATE TABLE IF NOT EXISTS races with itself there, so that the lock has to come first.
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
