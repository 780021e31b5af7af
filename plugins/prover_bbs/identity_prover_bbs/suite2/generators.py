"""The argument's generators of suite 2 on one curve (PROTOCOL-2.md §1.2).

Long vectors are the rule here, so sums over G_i go through ``PointSums``, which keep 6 to 48 kB a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import Final, NamedTuple

from identity_bbs.bls12381 import G1, Curve, DigitTable
from identity_prover_bbs.generators import generator_message
from identity_prover_bbs.labels import BLINDING, COEFFICIENT, COEFFICIENT_BLINDING, DIGIT
from identity_prover_bbs.plan import RADIX
from identity_prover_bbs.suite2 import labels

MAX_ELEMENTS: Final = 384
_SHELF: Final = 32


class _Shelf(NamedTuple):
    points: tuple[G1, ...]
    digits: DigitTable


class PresentationGenerators:
    """Get it from ``presentation_generators``, so that what is kept of points is shared."""

    def __init__(self, curve: Curve) -> None:
        self._curve = curve
        roles = [self._hashed(role, 0) for role in (COEFFICIENT, COEFFICIENT_BLINDING, BLINDING)]
        self._bases = curve.fixed_bases(roles)
        self._sums = curve.point_sums([roles[2]])
        self._shelves: tuple[_Shelf, ...] = ()

    @property
    def curve(self) -> Curve:
        """The curve that they are on."""
        return self._curve

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        """The sum of scalars[i] G_i + blinding H."""
        sums = self._sums
        if len(sums) <= len(scalars):
            points = [point for shelf in self._shelves_for(len(scalars)) for point in shelf.points]
            # Replaced in one step, as the shelves are.
            self._sums = sums = sums.grown(points[len(sums) - 1 :])
        return sums.sum([blinding, *scalars])

    def commit_digits(self, digits: Sequence[int], blinding: int) -> G1:
        """The sum of digits[i] G_i + blinding H, each digit below ``RADIX``; its time does not depend on the digits."""
        shelves = enumerate(self._shelves_for(len(digits)))
        sums = [shelf.digits.sum(digits[n * _SHELF : (n + 1) * _SHELF]) for n, shelf in shelves]
        return reduce(self._curve.g1_add, sums, self._bases.msm([blinding], [2]))

    def commit_elements(self, digits: Sequence[int], free: Sequence[int], blinding: int) -> G1:
        """The same with scalars of any size for the generators after those of the digits."""
        total = self.commit_digits(digits, blinding)
        if free:
            shelves = self._shelves_for(len(digits) + len(free))
            points = [point for shelf in shelves for point in shelf.points][len(digits) : len(digits) + len(free)]
            # Not by sums over fixed points: what is free is a secret, and may be small.
            total = self._curve.g1_add(total, self._curve.g1_msm(points, free))
        return total

    def commit_coefficient(self, coefficient: int, blinding: int) -> G1:
        """coefficient g + blinding h."""
        return self._bases.msm([coefficient, blinding], [0, 1])

    def _shelves_for(self, count: int) -> tuple[_Shelf, ...]:
        if not 0 <= count <= MAX_ELEMENTS:
            raise ValueError(f"an argument has at most {MAX_ELEMENTS} elements")
        wanted = -(-count // _SHELF)
        shelves = self._shelves
        if len(shelves) < wanted:
            # Replaced in one step, as other threads may read it; two that grow it at once make equal shelves.
            shelves += tuple(self._shelf(number) for number in range(len(shelves), wanted))
            self._shelves = shelves
        return shelves[:wanted]

    def _shelf(self, number: int) -> _Shelf:
        points = tuple(self._hashed(DIGIT, index) for index in range(number * _SHELF, (number + 1) * _SHELF))
        return _Shelf(points, self._curve.digit_table(points, RADIX))

    def _hashed(self, role: bytes, index: int) -> G1:
        return self._curve.hash_to_g1(generator_message(role, index), labels.GENERATOR_DST)


@cache
def presentation_generators(curve: Curve) -> PresentationGenerators:
    """The generators on this curve, one set for the whole process."""
    return PresentationGenerators(curve)
