"""A database opened read-only: nothing on the disk or the server changes, whatever its state.

SQLite is opened in one of three ways. Without a write-ahead log nothing is pending, and the file is read as it is
(``immutable``). With one, its index is read and not written (``readonly_shm``). With a log and no index, which an
incomplete copy leaves, both are copied to a temporary folder. On PostgreSQL the session is read-only.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from urllib.parse import quote

from msgspec import Struct

from identity_core.database.interface import (
    DATABASES,
    DatabaseAbsent,
    DatabaseDamaged,
    DatabaseError,
    DatabaseLoad,
    DatabaseMismatch,
    DatabaseUnavailable,
    Dialect,
    Job,
    T,
    Transaction,
    driver_of,
)
from identity_core.database.sqlite_connection import Connection, translated


class Look(Struct, eq=False):
    """A ``Database`` that can only be read. ``driver`` is the connection itself, for a library with its own
    statements; it cannot change anything either."""

    dialect: Dialect
    _transaction: Transaction
    driver: Any
    _end: ExitStack
    _failures: type[Exception]
    _translated: Callable[[Any], DatabaseError]
    read_only: ClassVar[bool] = True

    def read_now(self, job: Job[T]) -> T:
        try:
            return job(self._transaction)
        except self._failures as error:
            raise self._translated(error) from error
        finally:
            # On a server the statements of a job are one transaction, which must not stay open. A lost connection has
            # none.
            with suppress(self._failures):
                self.driver.rollback()

    async def read(self, job: Job[T]) -> T:
        return self.read_now(job)

    async def look_up(self, sql: str, parameters: Mapping[str, object]) -> list[Any]:
        return self.read_now(lambda transaction: transaction.execute(sql, parameters).fetchall())

    def write_now(self, job: Job[T]) -> T:
        """Raise ``DatabaseUnavailable``: writes are refused."""
        self._refuse()

    async def write(
        self,
        job: Job[T],
        *,
        durable: bool = True,
        patience_seconds: float = 0.0,
        heavy: bool = False,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Raise ``DatabaseUnavailable``: writes are refused."""
        self._refuse()

    def require_in_place(self) -> None:
        """Do nothing, because the file is not open for long."""

    def foreign_changes(self) -> None:
        """Return None: changes are not counted."""

    def load(self) -> DatabaseLoad:
        """Return zeros: nothing is written."""
        return DatabaseLoad(0, 0, 0, 0)

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        """Close the database without an event loop."""
        self._end.close()

    def _refuse(self) -> NoReturn:
        raise DatabaseUnavailable("the database was opened to be looked at")


def look_at_sqlite(path: Path) -> Look:
    """Open the SQLite file ``path`` read-only.

    Raises ``DatabaseAbsent``: when the file is missing or empty; ``DatabaseDamaged``; ``DatabaseUnavailable``.
    """
    if not path.exists() or path.stat().st_size == 0:
        raise DatabaseAbsent(f"there is no {path.name}" if not path.exists() else f"{path.name} is empty")
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(_open_read_only(path))
            connection.execute("PRAGMA query_only=ON")
            # The same mapping as for the service's readers, because an audit reads everything.
            connection.execute("PRAGMA mmap_size=2147418112")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise translated(error) from error
        except OSError as error:
            raise DatabaseUnavailable(f"cannot open {path}: {error.strerror}") from error
        return Look("sqlite", connection, connection, stack.pop_all(), sqlite3.Error, translated)


@contextmanager
def _open_read_only(path: Path) -> Iterator[Connection]:
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    with ExitStack() as stack:
        way = "immutable=1"
        if log.exists() and log.stat().st_size:
            way = "readonly_shm=1"
            if not index.exists():
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="identity-look-")))
                for one in (path, log):
                    shutil.copyfile(one, folder / one.name)
                path, way = folder / path.name, "cache=private"
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro&{way}",
            uri=True,
            timeout=1.0,
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
        )
        stack.callback(connection.close)
        yield connection


def look_at(url: str | None, path: Path) -> Look:
    """Open the server named by ``url``, or the embedded file ``path`` if ``url`` is None, read-only.

    Raises ``DatabaseAbsent``: when the file is missing; ``DatabaseDamaged``; ``DatabaseUnavailable``.
    """
    if url is None:
        return look_at_sqlite(path)
    look: Look = driver_of(DATABASES, url).look_at(url)
    return look


def faults_of(path: Path, *, quick: bool = False) -> list[str]:
    """Return the faults that SQLite finds in a completely read file; empty for a sound or a missing file.

    ``quick``: do not check that indexes and tables agree.
    """
    check = "PRAGMA quick_check(3)" if quick else "PRAGMA integrity_check(3)"
    try:
        look = look_at_sqlite(path)
    except DatabaseAbsent:
        return []
    except (DatabaseUnavailable, DatabaseMismatch) as error:
        return [error.reason]
    try:
        rows = look.read_now(lambda transaction: transaction.execute(check).fetchall())
        return [" ".join(str(row[0]).split()) for row in rows if row[0] != "ok"]
    except DatabaseDamaged as error:
        return [error.reason]
    finally:
        look.end()
