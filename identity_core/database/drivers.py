"""Drivers of servers, which distributions register as entry points by the scheme of a URL."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from identity_core.database.interface import DatabaseUnavailable

DATABASES: Final = "identity.databases"
"""Classes whose instances are a ``Database``, made from URL, ``writer_lock`` and number of readers. ``look_at(url)`` returns a ``Look``."""
BUCKETS: Final = "identity.buckets"
"""Subclasses of ``TokenBucketStorage``, made from ``async+tokenbucket+`` and the URL."""


@cache
def load_driver(group: str, scheme: str) -> Any:
    """Return the driver of ``group`` for URLs of ``scheme``. Raises ``DatabaseUnavailable``."""
    for found in entry_points(group=group, name=scheme):
        try:
            return found.load()
        except ImportError as error:
            raise DatabaseUnavailable(f"the driver for {scheme}:// cannot be loaded: {error}") from error
    raise DatabaseUnavailable(f"no driver for {scheme}:// is installed")


def driver_of(group: str, url: str) -> Any:
    """Return the driver of ``group`` for ``url``. Raises ``DatabaseUnavailable``."""
    return load_driver(group, url.partition(":")[0])
