"""A new store of SQLite is a copy of one that this process has made: its steps take 15 ms, and most tests make one.

Importing this module changes ``Store.open``, and steps of our packages are read once. A test that replaces the reader of the steps, and a
database on a server, get what the steps make.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from identity_core.database import migrations
from identity_core.store import Store

FILE = "identity.sqlite"

_open = Store.open
_read_steps = migrations._steps
_read_once = functools.cache(_read_steps)


def read_steps(package: str, dialect: str) -> list[migrations.Step]:
    """Return the steps of a package. Tests write packages with other names."""
    return (_read_once if package.startswith("identity_") else _read_steps)(package, dialect)


migrations._steps = read_steps


def _make_store() -> tuple[bytes, int]:
    """Return the bytes of a new store, and the mode of its file."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_open(Path(folder)).close())
        path = Path(folder) / FILE
        return path.read_bytes(), path.stat().st_mode & 0o777


@functools.cache
def make_store() -> tuple[bytes, int]:
    """Return what ``_make_store`` returns. The caller may be in a running loop, so a thread has another."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_make_store).result()


def _copy(place: Path) -> None:
    """Make the file at once. If another process is first, or nothing can be written, the store finds that itself."""
    content, mode = make_store()
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as folder:
        path = Path(folder) / FILE
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY, mode), "wb") as file:
            file.write(content)
        os.link(path, place)


def open_copied(_: type[Store], data_dir: Path, database_url: str | None = None, **choices: Any) -> Store:
    """Return what ``Store.open`` returns."""
    place = data_dir / FILE
    is_new = data_dir.is_dir() and not place.exists()
    if database_url is None and is_new and not choices.get("read_only") and migrations._steps is read_steps:
        _copy(place)
    return _open(data_dir, database_url, **choices)


Store.open = classmethod(open_copied)  # type: ignore[assignment, method-assign]
