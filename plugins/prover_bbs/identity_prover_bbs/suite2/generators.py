"""The argument's generators of suite 2 on one curve (PROTOCOL-2.md §1.2).

Long vectors are the rule here, so sums over G_i go through ``PointSums``, which keep 6 to 48 kB a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from identity_bbs.bls12381 import G1, Curve, FixedBases
from identity_prover_bbs.generators import CommitmentGenerators
from identity_prover_bbs.suite2 import labels

MAX_ELEMENTS: Final = 384


class PresentationGenerators(CommitmentGenerators):
    """Get it from ``presentation_generators``, so that what is kept of points is shared."""

    width = 32
    least = 0
    most = MAX_ELEMENTS
    unit = "elements"
    tag = labels.GENERATOR_DST

    def __init__(self, curve: Curve) -> None:
        super().__init__(curve)
        self._bases = curve.fixed_bases(self._roles)
        self._sums = curve.point_sums([self._roles[2]])

    def _role_bases(self) -> FixedBases:
        return self._bases

    def _bases_of(self, number: int, points: Sequence[G1]) -> FixedBases:
        return self._bases

    def commit_masks(self, scalars: Sequence[int], blinding: int) -> G1:
        sums = self._sums
        if len(sums) <= len(scalars):
            points = [point for shelf in self._shelves_for(len(scalars)) for point in shelf.points]
            # Replaced in one step, as the shelves are.
            self._sums = sums = sums.grown(points[len(sums) - 1 :])
        return sums.sum([blinding, *scalars])

    def commit_elements(self, digits: Sequence[int], free: Sequence[int], blinding: int) -> G1:
        """Return the same with scalars of any size for the generators after those of the digits."""
        total = self.commit_digits(digits, blinding)
        if free:
            shelves = self._shelves_for(len(digits) + len(free))
            points = [point for shelf in shelves for point in shelf.points][len(digits) : len(digits) + len(free)]
            # Not by sums over fixed points: what is free is a secret, and may be small.
            total = self._curve.g1_add(total, self._curve.g1_msm(points, free))
        return total


@cache
def presentation_generators(curve: Curve) -> PresentationGenerators:
    """Return the generators on this curve, one set for the whole process."""
    return PresentationGenerators(curve)
