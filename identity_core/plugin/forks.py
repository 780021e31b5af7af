"""A copy of the server must not serve.

A plugin that forks inside the server makes a second process with the same connections, the same database files and the same event loop,
which would answer requests twice and write to a ledger that it shares unasked. So the copy ends at once, before any code
runs in it. Programs that are started (``subprocess``, spawned processes) are no copies, and unharmed.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from functools import cache
from typing import Final

COPY_STATUS: Final = 70

_open = 0

log = logging.getLogger("identity")


@contextlib.contextmanager
def copies_end_at_once() -> Iterator[None]:
    """While this is entered, a fork of this process gives a process that ends with ``COPY_STATUS``."""
    global _open
    _register()
    _open += 1
    try:
        yield
    finally:
        _open -= 1


@cache
def _register() -> None:
    os.register_at_fork(before=_say, after_in_child=_end)


def _say() -> None:
    if _open:
        log.error("a plugin forks the server process; the copy ends at once (start a program, or use threads)")


def _end() -> None:
    if _open:
        os._exit(COPY_STATUS)
