"""The name under which a custodian keeps a holder's secret: the holder's DID, and from the second generation on its number.

Another name is another secret, and no DID has a ``#`` or an ``@``. A holder rotates where somebody else may know the secret: what is issued
from then on is bound to the next generation, and what was issued stays bound to its own, because nothing carries a signature over
(PROTOCOL-2.md §3). Where the custodian's own key, which all of them follow from, was replaced because somebody else may know it, the number
of that key stands behind.
"""

from __future__ import annotations

from typing import Final

from identity_core.domain.dids.did import Did

FIRST: Final = 1
_DIGITS: Final = 6


def name_of(holder: Did | str, generation: int, root: int = FIRST) -> str:
    """The name of the holder's secret of a generation that follows from the custodian's key ``root``, both from 1."""
    counted = str(holder) if generation == FIRST else f"{holder}#{generation}"
    return counted if root == FIRST else f"{counted}@{root}"


def generation_of(name: str) -> int:
    """Which generation a name is of."""
    return int(name.partition("@")[0].partition("#")[2] or FIRST)


def root_of(name: str) -> int:
    """Which of the custodian's own keys a name says that the secret follows from. Raises ``ValueError``."""
    number = name.partition("@")[2] or str(FIRST)
    if len(number) > _DIGITS or not (number.isascii() and number.isdecimal()) or number.startswith("0"):
        raise ValueError("not the number of a key")
    return int(number)
