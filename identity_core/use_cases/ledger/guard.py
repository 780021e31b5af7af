"""The detection of a rollback of all databases, which an extension provides, and what the kernel does without it."""

from __future__ import annotations

import contextlib
import logging
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from identity_core.errors import StorageMismatch
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.background import Repeating

UNGUARDED: Final = (
    "the extension transparency is missing or off: the end of the ledger is compared with the store alone, so a rollback of all "
    "databases is not detected"
)

log = logging.getLogger("identity")


class StorageWatch:
    """The comparison of the databases with what was written, while the service runs. This one compares nothing.

    ``mismatch`` is what the last comparison found wrong.
    """

    mismatch: StorageMismatch | None = None

    def weakness(self) -> str:
        """Return why a rollback might not be detected; empty when it is."""
        return UNGUARDED

    def hold_up(self, *others: Repeating | None) -> None:
        """Keep jobs that write from their steps while nothing may be changed."""

    def spare(self, *others: Repeating | None) -> None:
        """Let jobs rest on a server until ledger or audit log have moved, and call them then."""


class RollbackGuard:
    """The check of a start before anything is opened, by ``Extension.guard``. This one is that of a service without the extension."""

    async def require_key(self, custodian: Custodian) -> None:
        """Raise ``StorageMismatch``: when another custodian has signed what is remembered. Called before any key is made."""
        log.warning("%s", UNGUARDED)

    def watch(self, logged: Any, store: Any, clock: Any) -> AbstractAsyncContextManager[StorageWatch]:
        """Compare the ``store`` and the transparency log with what is remembered, then watch them until the end of the context.
        Raises ``StorageMismatch``."""
        return contextlib.nullcontext(StorageWatch())
