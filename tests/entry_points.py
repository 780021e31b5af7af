"""Read the installed distributions once a process: reading takes 20 ms, and a start of the service or a command reads several times.

Importing this module replaces the functions that read each time, so it is imported before modules that take them by their names. Only the
environment and the checkout are read once: tests write distributions into other folders.
"""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import os
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

READ_ONCE = (sysconfig.get_path("purelib"), str(Path(__file__).resolve().parents[1]))

Named = tuple[tuple[str, Iterable[EntryPoint]], ...]


def _read(place: str) -> Named:
    """Return the names of the distributions in a folder, and their entry points."""
    return tuple((one.name, one.entry_points) for one in importlib.metadata.distributions(path=[place]))


@functools.cache
def _read_once(place: str, _changed: int) -> Named:
    return _read(place)


def entry_points(**chosen: Any) -> EntryPoints:
    """Return entry points as ``importlib.metadata.entry_points`` does: of two distributions with one name, those of the first."""
    found: dict[str, Iterable[EntryPoint]] = {}
    for place in sys.path:
        named = _read_once(place, os.stat(place).st_mtime_ns) if place in READ_ONCE else _read(place)
        for name, points in named:
            found.setdefault(name, points)
    return EntryPoints(itertools.chain.from_iterable(found.values())).select(**chosen)


importlib.metadata.entry_points = entry_points  # type: ignore[assignment]

# A distribution that is read once parses its metadata once.
_parse = importlib.metadata.Distribution.metadata.fget  # type: ignore[attr-defined]
importlib.metadata.Distribution.metadata = property(functools.cache(_parse))  # type: ignore[assignment, method-assign]
