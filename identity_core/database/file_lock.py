"""A lock file: the queue of the processes that write to one SQLite file.

SQLite's own waiting is polling, and a busy neighbour starves the others for seconds; ``flock`` wakes the one who waits.
It also keeps two processes from checkpointing at one time, which SQLite before 3.51.3 can answer with a corrupt file.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """An exclusive ``flock`` on ``path``. The operating system frees it when the process dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_acquire(self) -> bool:
        """Takes the lock when it is free."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def acquire(self) -> None:
        """Takes the lock, waiting for it."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Gives the lock back; no error when it is not held."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Releases and closes."""
        os.close(self._descriptor)
