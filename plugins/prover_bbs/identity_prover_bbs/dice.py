"""The masks of a proof: hedged by signature, messages, statement and context (PROTOCOL.md §8)."""

from __future__ import annotations

from collections.abc import Callable

from identity_bbs.bls12381.hedged import HedgedScalars
from identity_prover_bbs import labels


class Dice(HedgedScalars):
    """The masks of one proof of suite 1."""

    def __init__(self, random: Callable[[int], bytes], about: bytes) -> None:
        super().__init__(labels.MASKS, random, about)
