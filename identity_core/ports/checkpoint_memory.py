"""Where an installation remembers its last checkpoint, apart from its databases."""

from __future__ import annotations

from typing import Protocol

from identity_core.domain.ledger.remembered import Remembered


class CheckpointMemory(Protocol):
    """Calls block on a disk."""

    def load(self) -> Remembered | None:
        """What was saved last; None where nothing was. Raises ``Malformed`` for what is none, ``OSError``."""
        ...

    def save(self, remembered: Remembered) -> None:
        """Durable on return; what is already there stays where it is as late or later. Raises ``OSError``."""
        ...

    def replace(self, remembered: Remembered) -> None:
        """The same, whatever is there."""
        ...


class AuditEnd(Protocol):
    """The end of the audit log."""

    async def settled(self) -> tuple[int, bytes]:
        """Number and link of the last line, (0, 32 zero octets) when there is none. On return the whole store up to it is on the
        disk: no loss of power takes it back. Raises ``PluginUnavailable``, ``Overloaded``, ``StorageMismatch``."""

    async def last(self) -> tuple[int, bytes]:
        """The same as it is now, on the disk or not."""

    def require_in_place(self) -> None:
        """Raises ``StorageMismatch`` when the store's file is no longer the one that was opened."""
