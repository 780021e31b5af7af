"""The backend on pyblst (blst, C and assembly): the fastest, and its scalar multiplication takes constant time.

It has no multi-scalar multiplication: sums of products of points that are not fixed are plain sums.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

import pyblst

from identity_bbs.bls12381.backend import (
    G1_GENERATOR,
    G2_GENERATOR,
    ORDER,
    BaseCurve,
    DigitTable,
    FixedBases,
    PointSums,
    checked_dst,
)
from identity_bbs.bls12381.bucket_sums import BucketSums
from identity_bbs.bls12381.fixed_bases import PointDigits, TableShelf, WindowedBases

_WINDOW: Final = 8


class PyblstCurve(BaseCurve):
    """``Curve`` on pyblst's Jacobian points. Its ``uncompress`` checks curve and subgroup, and raises ``ValueError``."""

    name = "pyblst"
    constant_time = True

    def __init__(self) -> None:
        self._g1: Any = pyblst.BlstP1Element()
        self._g2: Any = pyblst.BlstP2Element()
        self._uncompress_g1, self._uncompress_g2 = self._g1.uncompress, self._g2.uncompress
        super().__init__(self._g1, self._g1.uncompress(G1_GENERATOR), self._g2.uncompress(G2_GENERATOR))
        self._shelf = TableShelf()

    def g1_add(self, a: Any, b: Any, /) -> Any:
        """Return the sum of two points."""
        return a + b

    def g1_neg(self, a: Any, /) -> Any:
        """Return the negation of a point."""
        return -a

    def g1_mul(self, a: Any, k: int, /) -> Any:
        """Return ``k`` times ``a``."""
        return a.scalar_mul(k % ORDER)

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        """Return the sum of the products of points and scalars."""
        return sum((a.scalar_mul(k % ORDER) for a, k in zip(points, scalars, strict=True)), self._g1)

    g1_public_msm, g2_mul = g1_msm, g1_mul

    def g1_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return bool(a == self._g1)

    def g1_equal(self, a: Any, b: Any, /) -> bool:
        """Return whether two points are equal."""
        return bool(a == b)

    def g1_to_octets(self, a: Any, /) -> bytes:
        """Encode a point in 48 bytes."""
        return bytes(a.compress())

    g2_to_octets = g1_to_octets

    def g2_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return bool(a == self._g2)

    def fixed_bases(self, points: Sequence[Any], /, *, window: int | None = None) -> FixedBases:
        """Prepare points that are multiplied often."""
        return WindowedBases(self, self._shelf, points, _WINDOW if window is None else window)

    def digit_table(self, points: Sequence[Any], radix: int, /) -> DigitTable:
        """Prepare the small multiples of points."""
        return PointDigits(self, points, radix)

    def point_sums(self, points: Sequence[Any], /) -> PointSums:
        """Prepare sums over these points."""
        # The operator of a native point saves a Python frame an addition.
        return BucketSums(self, operator.add, points)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        """Hash a message to G1 (RFC 9380)."""
        return self._g1.hash_to_group(message, checked_dst(dst))

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        """Return whether the product of the pairings is one."""
        loops = pyblst.BlstFP12Element()
        for a, b in pairs:
            loops = loops * pyblst.miller_loop(a, b)
        # One final exponentiation for the whole product: final_verify raises the quotient of its arguments.
        return bool(pyblst.final_verify(loops, pyblst.BlstFP12Element()))
