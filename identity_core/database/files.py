"""Files: durable and atomic writes, a lock, and a check whether an SQLite file is still the one that was opened.

The lock is the queue of the processes that write to one SQLite file. SQLite polls while it waits, and a busy process
then starves the others for seconds; ``flock`` wakes the waiting process. The lock also keeps two processes from
checkpointing at one time, which can corrupt the file in SQLite before 3.51.3.

If the file is replaced or removed, open connections hold a file that no new connection finds. Their commits are lost
when they close, even acknowledged ones. So the names are looked up before each commit: two ``stat``, two
microseconds. A file that is overwritten in place is not detected here; the extension ``transparency`` compares its
content.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from typing import Final

from identity_core.database.interface import DatabaseReplaced

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY


class FileLock:
    """A ``flock`` on ``path``, or with the flags ``FOLDER`` on a folder itself, which needs no file in it. The operating system
    releases it when the process dies."""

    def __init__(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and return whether it was."""
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def acquire(self, *, shared: bool = False) -> None:
        """Wait for the lock and take it. With ``shared``, other processes can share it; an exclusive lock becomes a shared one."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the lock. It is not an error if it is not held."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock and close the file."""
        os.close(self._descriptor)


class InPlace:
    """Identities of the file and its write-ahead log. They are read after the first statement, which creates the log."""

    def __init__(self, path: Path) -> None:
        self._files = tuple((os.fspath(one), _identity(os.fspath(one))) for one in (path, Path(f"{path}-wal")))

    def require(self) -> None:
        """Raise ``DatabaseReplaced`` when one of the files was replaced or removed."""
        for name, known in self._files:
            if _identity(name) != known:
                raise DatabaseReplaced(f"{name} was replaced or removed while it was in use")


def _identity(name: str) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        found = os.stat(name)
        return found.st_dev, found.st_ino
    return None


class Turn:
    """The write lock that the thread holds for the loop. Either the loop takes it or the thread withdraws it; the
    first decision counts. Without withdrawal a loop that hangs would keep every other process from writing."""

    def __init__(self) -> None:
        self._decided = threading.Lock()
        self.noticed = threading.Event()

    def take(self) -> bool:
        """Take the lock, on the loop. Return False if the thread has withdrawn it."""
        taken = self._decided.acquire(blocking=False)
        self.noticed.set()
        return taken

    def withdraw(self, seconds: float) -> bool:
        """Withdraw the lock, on the thread. Return whether the loop has not taken it in time and cannot take it any
        more."""
        return not self.noticed.wait(seconds) and self._decided.acquire(blocking=False)
