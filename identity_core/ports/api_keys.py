"""Where it is remembered, apart from the key store, which API keys this service wrote and in which state it left them.

How much each owner has written: cheap counters that refuse before anything is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class
from identity_core.domain.callers import ApiKey


@value_class
class PendingTag:
    """The tag of a state that a key is about to get."""

    key_id: str
    number: bytes


class KeyTags(Protocol):
    """Tags over everything that an API key says. One that a thief who writes to the databases cannot make."""

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

    async def accept(self, keys: Sequence[ApiKey]) -> None:
        """Takes these keys as they are, instead of all that was tagged before."""
        ...

    async def keep_only(self, key: ApiKey, before: datetime) -> None:
        """Of all that is known of this key, which holds, only this state stays, and what was announced since ``before``."""
        ...

    async def known(self) -> frozenset[str]:
        """The ids of all keys that the key store took."""
        ...


KEPT: int = 0
"""The ``day`` under which an owner's kept records are counted in all."""


@value_class
class Charge:
    """One record of ``octets`` octets against one counter. ``owner`` is a DID or an address; ``day`` counts UTC days from 1970, or is
    ``KEPT``. ``name`` is what a refusal calls the counter; ``most_records`` and ``most_octets`` None for no limit."""

    name: str
    owner: str
    day: int
    octets: int
    most_records: int | None
    most_octets: int | None


class Usage(Protocol):
    """Counters by owner and day."""

    async def charge(self, charges: Sequence[Charge]) -> None:
        """Counts all of them or none. Raises ``QuotaExceeded`` when a counter would pass its limit.

        What is counted is committed before this returns and before what it stands for is written: a process that dies in between has
        counted too much, never too little. It need not outlive a loss of power: neither does an unfinished request.
        """
        ...

    async def refund(self, charge: Charge) -> None:
        """Takes back one that was charged, for what was not stored after all."""
        ...

    async def forget(self, before_day: int, *, limit: int) -> int:
        """Deletes at most ``limit`` counters of days before this one; how many there were."""
        ...
