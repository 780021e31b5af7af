"""How much each owner has written: cheap counters that refuse before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

KEPT: int = 0
"""The ``day`` under which an owner's kept records are counted in all."""


@dataclass(frozen=True, slots=True)
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

        What is counted is committed before this returns and before what it stands for is written: whoever dies in between has
        counted too much, never too little. It need not outlive a loss of power: neither does an unfinished request.
        """
        ...

    async def refund(self, charge: Charge) -> None:
        """Takes back one that was charged, for what was not stored after all."""
        ...

    async def forget(self, before_day: int, *, limit: int) -> int:
        """Deletes at most ``limit`` counters of days before this one; how many there were."""
        ...
