"""The argument's generators on one curve: g, h, H, G_0, G_1 … by hashing to the curve (PROTOCOL.md §1.2).

They are made once a process, in shelves that grow as longer digit vectors come; the curve decides what gets tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import Final, NamedTuple, Protocol

from identity_bbs.bls12381 import G1, Curve, DigitTable, FixedBases
from identity_prover_bbs import labels
from identity_prover_bbs.plan import RADIX

MAX_DIGITS: Final = 256
_SHELF: Final = 33
"""Digits of one shelf: what any one interval of 64 bits needs, so that one proof of it is one multi-scalar product."""


class CommitmentGenerators(Protocol):
    """The generators of a committed vector, for either suite."""

    @property
    def curve(self) -> Curve:
        """The curve that they are on."""
        ...

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        """The sum of scalars[i] G_i + blinding H."""
        ...

    def commit_digits(self, digits: Sequence[int], blinding: int) -> G1:
        """The sum of digits[i] G_i + blinding H, each digit below ``RADIX``; its time does not depend on the digits."""
        ...

    def commit_coefficient(self, coefficient: int, blinding: int) -> G1:
        """coefficient g + blinding h."""
        ...


class _Shelf(NamedTuple):
    bases: FixedBases
    digits: DigitTable


def generator_message(role: bytes, index: int) -> bytes:
    """Return the message that is hashed to the curve: the role and an 8-octet index."""
    return role + index.to_bytes(8, "big")


class Generators:
    """Get it from ``generators``, so that the tables are shared."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve
        self._coefficient = self._hashed(labels.COEFFICIENT, 0)
        self._coefficient_blinding = self._hashed(labels.COEFFICIENT_BLINDING, 0)
        self._blinding = self._hashed(labels.BLINDING, 0)
        self._shelves: tuple[_Shelf, ...] = ()

    @property
    def curve(self) -> Curve:
        """The curve that they are on."""
        return self._curve

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        """The sum of scalars[i] G_i + blinding H."""
        sums = []
        for number, shelf in enumerate(self._shelves_for(len(scalars))):
            part = scalars[number * _SHELF : (number + 1) * _SHELF]
            indexes = range(3, 3 + len(part))
            if number == 0:
                sums.append(shelf.bases.msm([*part, blinding], [*indexes, 2]))
            else:
                sums.append(shelf.bases.msm(part, indexes))
        return reduce(self.curve.g1_add, sums)

    def commit_digits(self, digits: Sequence[int], blinding: int) -> G1:
        """The sum of digits[i] G_i + blinding H, each digit below ``RADIX``; its time does not depend on the digits."""
        shelves = self._shelves_for(len(digits))
        sums = [shelf.digits.sum(digits[n * _SHELF : (n + 1) * _SHELF]) for n, shelf in enumerate(shelves)]
        return reduce(self.curve.g1_add, sums, shelves[0].bases.msm([blinding], [2]))

    def commit_coefficient(self, coefficient: int, blinding: int) -> G1:
        """coefficient g + blinding h."""
        return self._shelves_for(1)[0].bases.msm([coefficient, blinding], [0, 1])

    def _shelves_for(self, count: int) -> tuple[_Shelf, ...]:
        if not 1 <= count <= MAX_DIGITS:
            raise ValueError(f"an argument has 1 to {MAX_DIGITS} digits")
        wanted = -(-count // _SHELF)
        shelves = self._shelves
        if len(shelves) < wanted:
            # Replaced in one step, as other threads may read it; two that grow it at once make equal shelves.
            shelves += tuple(self._shelf(number) for number in range(len(shelves), wanted))
            self._shelves = shelves
        return shelves[:wanted]

    def _shelf(self, number: int) -> _Shelf:
        points = [self._hashed(labels.DIGIT, index) for index in range(number * _SHELF, (number + 1) * _SHELF)]
        # Each shelf starts with the same three points, so that indexes mean the same on all; a point costs nothing
        # until it is used.
        roles = [self._coefficient, self._coefficient_blinding, self._blinding]
        bases = self.curve.fixed_bases([*roles, *points])
        if number == 0:
            # A proof has g and h in each of its coefficients: they get their tables before there is no room for more.
            bases.msm([0] * len(roles), range(len(roles)))
        return _Shelf(bases, self.curve.digit_table(points, RADIX))

    def _hashed(self, role: bytes, index: int) -> G1:
        return self.curve.hash_to_g1(generator_message(role, index), labels.GENERATOR_DST)


@cache
def generators(curve: Curve) -> Generators:
    """The generators on this curve, one set for the whole process."""
    return Generators(curve)
