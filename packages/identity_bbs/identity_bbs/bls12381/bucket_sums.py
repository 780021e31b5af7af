"""Sums of products over many fixed points, with little memory: buckets (Pippenger) over stored shifts.

Of each point P the multiples 256^j·P are kept, 32 points and 6 kB. A scalar is 32 bytes; the point for position j goes into the bucket of
byte j, and at the end the bucket of value d counts d times. For 80 points that is fewer additions than tables of six bits need,
which keep 2,700 points of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Final, Self

from identity_bbs.bls12381.backend import G1, ORDER, SCALAR_OCTETS, Curve, check_count

_VALUES: Final = 256
_OFFSET_DST: Final = b"IDENTITY-BUCKET-SUMS-V1_BLS12381G1_XMD:SHA-256_SSWU_RO_OFFSET_"

Shifts = tuple[Any, ...]
"""256^j·P for j = 0 … 31."""


class BucketSums:
    """``PointSums`` on one curve; ``plus`` is its addition.

    Every bucket starts with a point of unknown logarithm, whose share is taken away at the end, so that no sum adds the identity: the
    count of additions depends on the number of points alone. Buckets are reached at places that depend on the scalars, which a cache may
    reveal; not for a secret key.
    """

    def __init__(self, curve: Curve, plus: Callable[[Any, Any], Any], points: Sequence[G1]) -> None:
        self._add = plus
        self._rows: tuple[Shifts, ...] = tuple(map(self._shifts, points))
        self._offset: Any = curve.hash_to_g1(b"", _OFFSET_DST)
        # The bucket of value d has its offset d times: 0 + 1 + … + 255 of them in all.
        self._correction: Any = curve.g1_mul(curve.g1_neg(self._offset), _VALUES * (_VALUES - 1) // 2)

    def __len__(self) -> int:
        return len(self._rows)

    def grown(self, points: Sequence[G1]) -> Self:
        """Return sums over these points and then those of ``points``."""
        more = copy(self)
        more._rows = (*self._rows, *map(self._shifts, points))
        return more

    def _shifts(self, point: G1) -> Shifts:
        row: list[Any] = [point]
        while len(row) < SCALAR_OCTETS:
            shifted = row[-1]
            for _ in range(8):
                shifted = self._add(shifted, shifted)
            row.append(shifted)
        return tuple(row)

    def sum(self, scalars: Sequence[int]) -> G1:
        """Return the sum of the products of the first points."""
        check_count(scalars, len(self._rows))
        add = self._add
        buckets = [self._offset] * _VALUES
        for scalar, row in zip(scalars, self._rows, strict=False):
            for digit, point in zip((scalar % ORDER).to_bytes(SCALAR_OCTETS, "little"), row, strict=True):
                buckets[digit] = add(buckets[digit], point)
        # The sum of d·bucket_d is the sum of all partial sums from the last bucket down to the first.
        partial = total = buckets[-1]
        for bucket in buckets[-2:0:-1]:
            partial = add(partial, bucket)
            total = add(total, partial)
        result: G1 = add(total, self._correction)
        return result
