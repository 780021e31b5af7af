"""Hedged masks: fresh randomness of the operating system, mixed with all that a proof is about.

A mask that is used for two challenges gives the secret away. A copied machine state or a stuck generator therefore must not repeat
masks for another statement or context: the seed hashes the system's bytes together with secrets, statement and context, and
SHAKE256 draws from it.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import shake_256
from typing import Final

from identity_bbs.bls12381.backend import ORDER
from identity_bbs.bls12381.keys import EXPAND_OCTETS
from identity_bbs.frames import frame, number

SEED_OCTETS: Final = 32


class HedgedScalars:
    """A stream of scalars within 2^-128 of uniform. ``about`` is all that the masks must not repeat for; ``tag`` keeps two uses
    apart. Raises ``OSError`` when the source gives less than it was asked for."""

    def __init__(self, tag: bytes, random: Callable[[int], bytes], about: bytes) -> None:
        fresh = random(SEED_OCTETS)
        if len(fresh) != SEED_OCTETS:
            raise OSError("the source of randomness gave too few bytes")
        self._seed = frame(tag, [fresh, about])
        self._draws = 0

    def scalars(self, count: int) -> list[int]:
        """Return the next ``count`` scalars, 0 to r - 1."""
        stream = shake_256(self._seed + number(self._draws)).digest(EXPAND_OCTETS * count)
        self._draws += 1
        starts = range(0, len(stream), EXPAND_OCTETS)
        return [int.from_bytes(stream[start : start + EXPAND_OCTETS], "big") % ORDER for start in starts]
