"""Where it is remembered, apart from the key store, which API keys this service wrote and in which state it left them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from identity_core.domain.caller import ApiKey


@dataclass(frozen=True, slots=True)
class PendingTag:
    """The tag of a state that a key is about to get."""

    key_id: str
    number: bytes


class KeyTags(Protocol):
    """Tags over everything that an API key says. One that whoever writes to the databases cannot make."""

    async def holds(self, key: ApiKey) -> bool:
        """Whether this service wrote the key as it is, and has not replaced it since."""
        ...

    async def announce(self, key: ApiKey, now: datetime) -> PendingTag:
        """The key store is about to get ``key``: both its states hold until the change is settled or withdrawn."""
        ...

    async def settle(self, pending: PendingTag, replaced: ApiKey | None) -> None:
        """The key store has it, in the place of ``replaced``, which holds no more."""
        ...

    async def withdraw(self, pending: PendingTag) -> None:
        """The key store did not take it."""
        ...

    async def adopt(self, keys: Sequence[ApiKey], *, instead: bool) -> None:
        """Takes these keys as they are: ``instead`` of all that was tagged before, or only where nothing was."""
        ...

    async def keep_only(self, key: ApiKey, before: datetime) -> None:
        """Of all that is known of this key, which holds, only this state stays, and what was announced since ``before``."""
        ...

    async def known(self) -> frozenset[str]:
        """The ids of all keys that the key store took."""
        ...
