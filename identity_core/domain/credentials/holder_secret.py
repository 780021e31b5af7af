"""The name under which a custodian keeps a holder's secret: the holder's DID, and from the second generation on its number.

Another name is another secret, and no DID has a ``#``. A holder rotates where somebody else may know the secret: what is issued from then
on is bound to the next generation, and what was issued stays bound to its own, because nothing carries a signature over
(PROTOCOL-2.md §3).
"""

from __future__ import annotations

from typing import Final

from identity_core.domain.dids.did import Did

FIRST: Final = 1


def name_of(holder: Did | str, generation: int) -> str:
    """The name of the holder's secret of a generation, from 1."""
    return str(holder) if generation == FIRST else f"{holder}#{generation}"


def generation_of(name: str) -> int:
    """Which generation a name is of."""
    return int(name.partition("#")[2] or FIRST)
