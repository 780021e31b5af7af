"""Read-only opening of single databases."""

from __future__ import annotations

from pathlib import Path

from identity_core.database import Job, look_at
from identity_core.database.interface import T


def read_database(url: str | None, path: Path, job: Job[T]) -> T:
    """Return the result of ``job`` on the database at ``url``, or in the file ``path`` without one. Raises ``DatabaseError``."""
    look = look_at(url, path)
    try:
        return look.read_now(job)
    finally:
        look.end()
