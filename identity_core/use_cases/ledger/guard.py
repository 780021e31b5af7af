"""The port of the extension that detects a rollback of all databases, and what the kernel does without one."""

from __future__ import annotations

import contextlib
import logging
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from identity_core.errors import StorageMismatch
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.background import Repeating

UNGUARDED: Final = (
    "the extension transparency is missing or off: the end of the ledger is compared with the store alone, so a rollback of all "
    "databases is not detected"
)

log = logging.getLogger("identity")


class StorageWatch(Protocol):
    """The comparison of the databases with what was written, while the service runs."""

    @property
    def mismatch(self) -> StorageMismatch | None:
        """What the last comparison found wrong."""
        ...

    @property
    def weakness(self) -> str:
        """Why a rollback might not be detected; empty when it is."""
        ...

    @property
    def log_size(self) -> int:
        """How many entries the log had at the last comparison."""
        ...

    def hold_up(self, *others: Repeating | None) -> None:
        """Keep jobs that write from their steps while nothing may be changed."""
        ...

    def spare(self, *others: Repeating | None) -> None:
        """Let jobs rest on a server until ledger or audit log have moved, and call them then."""
        ...


class RollbackGuard(Protocol):
    """An extension provides it by ``Extension.guard``; it is used before anything is opened."""

    async def require_key(self, custodian: Custodian) -> None:
        """Raise ``StorageMismatch``: when another custodian has signed what is remembered. Called before any key is made."""
        ...

    def watch(self, logged: Any, store: Any, clock: Any) -> AbstractAsyncContextManager[StorageWatch]:
        """Compare the ``store`` and the transparency log with what is remembered, then watch them until the end of the context.
        Raises ``StorageMismatch``."""
        ...


class NoRollbackGuard(RollbackGuard, StorageWatch):
    """A service without the extension: a start compares the end of the ledger with the store, and nothing is watched."""

    mismatch = None
    weakness = UNGUARDED
    log_size = 0

    async def require_key(self, custodian: Custodian) -> None:
        log.warning("%s", UNGUARDED)

    def watch(self, logged: Any, store: Any, clock: Any) -> AbstractAsyncContextManager[StorageWatch]:
        return contextlib.nullcontext(self)

    def hold_up(self, *others: Repeating | None) -> None:
        """Nothing is ever found wrong."""

    def spare(self, *others: Repeating | None) -> None:
        """They look by themselves."""
