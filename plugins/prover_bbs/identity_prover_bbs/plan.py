"""Mixed-weight digits: one digit vector for the integers 0 … width, exactly (PROTOCOL.md §4.1).

The sums of all digit vectors are all of 0 … width and nothing else, so that a proof about each digit is a proof about the
number, whatever the width is. The last weight is 1, which lets the verifier derive the last response.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

RADIX: Final = 4

_OFFSET: Final = 1 << 65
"""Above every value and weight: what is compared has one size in memory, so that a small value is not faster than a large one."""


class Digit(NamedTuple):
    """A digit takes 0 … radix - 1 and counts ``weight`` each."""

    weight: int
    radix: int


@lru_cache(maxsize=4096)
def plan(width: int) -> tuple[Digit, ...]:
    """Return the digits for 0 … width, heaviest first; at most 33 for a width below 2^64. Equation (4.1)."""
    if width < 1:
        raise ValueError("an interval of one value needs no digits")
    digits: list[Digit] = []
    while width >= RADIX - 1:
        weight = (width + 1) // RADIX
        digits.append(Digit(weight, RADIX))
        width -= (RADIX - 1) * weight
    if width > 0:
        digits.append(Digit(1, width + 1))
    return tuple(digits)


def decompose(digits: tuple[Digit, ...], value: int) -> list[int]:
    """Return the digits of ``value``, greedily from the heaviest. Raises ``ValueError`` for what is outside 0 … width."""
    chosen: list[int] = []
    rest = _OFFSET + value
    for steps in _steps(digits):
        # Comparisons alone, and as many for every digit: a division takes longer for a larger value.
        digit = 0
        for step in steps[1:]:
            digit += rest >= step
        chosen.append(digit)
        rest = rest + _OFFSET - steps[digit]
    if rest != _OFFSET:
        raise ValueError("the value is outside the interval")
    return chosen


@lru_cache(maxsize=256)
def _steps(digits: tuple[Digit, ...]) -> list[list[int]]:
    """Return the minimal size of a rest for each count of each weight."""
    return [[_OFFSET + count * weight for count in range(radix)] for weight, radix in digits]
