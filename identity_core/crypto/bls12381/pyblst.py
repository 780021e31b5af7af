"""The backend on pyblst (blst, C and assembly): the fastest, and its scalar multiplication takes constant time.

It has no multi-scalar multiplication: sums of products of points that are not fixed are plain sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

import pyblst

from identity_core.crypto.bls12381.backend import ORDER, checked_dst
from identity_core.crypto.bls12381.fixed_bases import NativeCurve


class PyblstCurve(NativeCurve):
    """``Curve`` on pyblst's Jacobian points."""

    name = "pyblst"
    constant_time = True

    def __init__(self) -> None:
        g1: Any = pyblst.BlstP1Element()
        g2: Any = pyblst.BlstP2Element()
        super().__init__(
            g1_identity=g1,
            g2_identity=g2,
            uncompress_g1=g1.uncompress,
            uncompress_g2=g2.uncompress,
            to_octets=methodcaller("compress"),
        )

    def g1_mul(self, a: Any, k: int, /) -> Any:
        return a.scalar_mul(k % ORDER)

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        total = self._g1_identity
        for point, scalar in zip(points, scalars, strict=True):
            total = total + point.scalar_mul(scalar % ORDER)
        return total

    def g2_mul(self, a: Any, k: int, /) -> Any:
        return a.scalar_mul(k % ORDER)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        return self._g1_identity.hash_to_group(message, checked_dst(dst))

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        loops = pyblst.BlstFP12Element()
        for a, b in pairs:
            loops = loops * pyblst.miller_loop(a, b)
        # One final exponentiation for the whole product: final_verify raises the quotient of its arguments.
        return bool(pyblst.final_verify(loops, pyblst.BlstFP12Element()))
