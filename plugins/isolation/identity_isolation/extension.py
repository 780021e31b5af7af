"""The extension ``isolation``: provers and verifiers of formats run in worker processes. It has no operations."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from functools import cache
from typing import Final

from identity_core.extension.declaration import Contribution, Extension
from identity_core.plugin import hookimpl
from identity_core.plugin.isolation import Isolation

COPY_STATUS: Final = 70

_open = 0

log = logging.getLogger("identity")


@contextlib.contextmanager
def copies_end_at_once() -> Iterator[None]:
    """Make every fork of this process end with ``COPY_STATUS`` before any code runs in it, while the context is
    entered.

    A plugin that forks inside the server makes a second process with the same connections, database files and event
    loop. The copy would answer requests twice and write to the shared ledger. Started programs (``subprocess``,
    spawned processes) are not copies and are not affected.
    """
    global _open
    _register()
    _open += 1
    try:
        yield
    finally:
        _open -= 1


@cache
def _register() -> None:
    said = "a plugin forks the server process; the copy ends at once (start a program, or use threads)"
    os.register_at_fork(
        before=lambda: log.error(said) if _open else None,
        after_in_child=lambda: os._exit(COPY_STATUS) if _open else None,
    )


@contextlib.contextmanager
def isolate() -> Iterator[Isolation]:
    """Return the function that runs provers in processes; until the context is left, a fork of this process ends at once."""
    from identity_isolation.provers import in_processes

    with copies_end_at_once():
        yield in_processes


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    # No further parts.
    none = contextlib.nullcontext(Contribution())
    return Extension(name="isolation", kernel=">=1,<2", open=lambda _: none, isolation=isolate)
