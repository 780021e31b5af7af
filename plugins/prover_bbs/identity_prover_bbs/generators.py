"""The argument's generators on one curve: g, h, H, G_0, G_1 … by hashing to the curve (PROTOCOL.md §1.2).

They are made once a process, in shelves that grow as longer digit vectors come; the curve decides what gets tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import ClassVar, Final, NamedTuple

from identity_bbs.bls12381 import G1, Curve, DigitTable, FixedBases
from identity_prover_bbs import labels
from identity_prover_bbs.labels import BLINDING, COEFFICIENT, COEFFICIENT_BLINDING, DIGIT
from identity_prover_bbs.plan import RADIX

MAX_DIGITS: Final = 256


def generator_message(role: bytes, index: int) -> bytes:
    """Return the message that is hashed to the curve: the role and an 8-byte index."""
    return role + index.to_bytes(8, "big")


class Shelf(NamedTuple):
    """The points of some generators G_i, what keeps multiples of them, and the sums of their digits."""

    points: Sequence[G1]
    bases: FixedBases
    digits: DigitTable


class CommitmentGenerators:
    """The generators of a committed vector, for either suite. Those of its elements are made as longer vectors come,
    in shelves of ``width``."""

    width: ClassVar[int]
    least: ClassVar[int]
    most: ClassVar[int]
    unit: ClassVar[str]
    tag: ClassVar[bytes]

    def __init__(self, curve: Curve) -> None:
        self._curve = curve
        self._roles = [self._hashed(role, 0) for role in (COEFFICIENT, COEFFICIENT_BLINDING, BLINDING)]
        self._shelves: tuple[Shelf, ...] = ()

    @property
    def curve(self) -> Curve:
        """Return the curve that they are on."""
        return self._curve

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        """Return the sum of scalars[i] G_i + blinding H."""
        raise NotImplementedError

    def commit_digits(self, digits: Sequence[int], blinding: int) -> G1:
        """Return the sum of digits[i] G_i + blinding H, each digit below ``RADIX``; its time does not depend on the digits."""
        shelves = enumerate(self._shelves_for(len(digits)))
        sums = [shelf.digits.sum(digits[n * self.width : (n + 1) * self.width]) for n, shelf in shelves]
        return reduce(self._curve.g1_add, sums, self._role_bases().msm([blinding], [2]))

    def commit_coefficient(self, coefficient: int, blinding: int) -> G1:
        """Return coefficient g + blinding h."""
        return self._role_bases().msm([coefficient, blinding], [0, 1])

    def _role_bases(self) -> FixedBases:
        """Return bases that begin with g, h and H."""
        return self._shelves_for(1)[0].bases

    def _shelves_for(self, count: int) -> tuple[Shelf, ...]:
        if not self.least <= count <= self.most:
            raise ValueError(f"an argument has {self.least} to {self.most} {self.unit}")
        wanted = -(-count // self.width)
        shelves = self._shelves
        if len(shelves) < wanted:
            # Replaced in one step, as other threads may read it; two that grow it at once make equal shelves.
            shelves += tuple(self._shelf(number) for number in range(len(shelves), wanted))
            self._shelves = shelves
        return shelves[:wanted]

    def _shelf(self, number: int) -> Shelf:
        points = [self._hashed(DIGIT, index) for index in range(number * self.width, (number + 1) * self.width)]
        return Shelf(points, self._bases_of(number, points), self._curve.digit_table(points, RADIX))

    def _bases_of(self, number: int, points: Sequence[G1]) -> FixedBases:
        raise NotImplementedError

    def _hashed(self, role: bytes, index: int) -> G1:
        return self._curve.hash_to_g1(generator_message(role, index), self.tag)


class Generators(CommitmentGenerators):
    """The generators of suite 1. Get it from ``generators``, so that the tables are shared."""

    # What any one interval of 64 bits needs, so that one proof of it is one multi-scalar product.
    width = 33
    least = 1
    most = MAX_DIGITS
    unit = "digits"
    tag = labels.GENERATOR_DST

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        sums = []
        for number, shelf in enumerate(self._shelves_for(len(scalars))):
            part = scalars[number * self.width : (number + 1) * self.width]
            indexes = range(3, 3 + len(part))
            if number == 0:
                sums.append(shelf.bases.msm([*part, blinding], [*indexes, 2]))
            else:
                sums.append(shelf.bases.msm(part, indexes))
        return reduce(self.curve.g1_add, sums)

    def _bases_of(self, number: int, points: Sequence[G1]) -> FixedBases:
        # Each shelf starts with the same three points, so that indexes mean the same on all; a point costs nothing
        # until it is used.
        bases = self.curve.fixed_bases([*self._roles, *points])
        if number == 0:
            # A proof has g and h in each of its coefficients: they get their tables before there is no room for more.
            bases.msm([0] * len(self._roles), range(len(self._roles)))
        return bases


@cache
def generators(curve: Curve) -> Generators:
    """Return the generators on this curve, one set for the whole process."""
    return Generators(curve)
