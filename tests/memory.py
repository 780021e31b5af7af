"""A place without a disk, for tests whose promise is not that something is on it: they do not wait for one that is busy."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ENOUGH_OCTETS = 1 << 30


@contextlib.contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder of its own; ``otherwise``, where the system has no such place, or little of it, as containers have."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < ENOUGH_OCTETS:
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY, prefix="identity-") as found:
        # One below, so that what is written beside it goes too.
        folder = Path(found) / "data"
        folder.mkdir(mode=0o700)
        yield folder
