"""Whether an SQLite file is still the one that was opened.

Anyone who moves another file to its name, or removes it, leaves the open connections with a file that no one will find again: what
they commit is lost at their end, acknowledged or not. The names are looked up before each commit: two ``stat``, two
microseconds. Left out: a file that is written over in place; its content tells (``use_cases/ledger/storage.py``).
"""

from __future__ import annotations

import os
from pathlib import Path

from identity_core.database.errors import DatabaseReplaced


class InPlace:
    """The file and its write-ahead log, as they were when this was made: after the first statement, which makes the log."""

    def __init__(self, path: Path) -> None:
        self._files = tuple((os.fspath(one), _identity(os.fspath(one))) for one in (path, Path(f"{path}-wal")))

    def require(self) -> None:
        """Raises ``DatabaseReplaced``."""
        for name, known in self._files:
            if _identity(name) != known:
                raise DatabaseReplaced(f"{name} was replaced or removed while it was in use")


def _identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
