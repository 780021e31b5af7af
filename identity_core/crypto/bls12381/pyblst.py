"""The backend on pyblst (blst, C and assembly): the fastest, and its scalar multiplication takes constant time.

It has no multi-scalar multiplication: sums of products of points that are not fixed are plain sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyblst

from identity_core.crypto.bls12381.backend import (
    G1_GENERATOR,
    G1_OCTETS,
    G2_GENERATOR,
    G2_OCTETS,
    ORDER,
    FixedBases,
    InvalidPoint,
    checked_dst,
)
from identity_core.crypto.bls12381.fixed_bases import TableShelf, WindowedBases

_WINDOW = 8


class PyblstCurve:
    """``Curve`` on pyblst's Jacobian points."""

    name = "pyblst"
    constant_time = True

    def __init__(self) -> None:
        self._g1_identity: Any = pyblst.BlstP1Element()
        self._g2_identity: Any = pyblst.BlstP2Element()
        self._g1_generator: Any = self.octets_to_g1(G1_GENERATOR)
        self._g2_generator: Any = self.octets_to_g2(G2_GENERATOR)
        self._shelf = TableShelf()

    def g1_identity(self) -> Any:
        return self._g1_identity

    def g1_generator(self) -> Any:
        return self._g1_generator

    def g2_generator(self) -> Any:
        return self._g2_generator

    def g1_add(self, a: Any, b: Any, /) -> Any:
        return a + b

    def g1_neg(self, a: Any, /) -> Any:
        return -a

    def g1_mul(self, a: Any, k: int, /) -> Any:
        return a.scalar_mul(k % ORDER)

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        total = self._g1_identity
        for point, scalar in zip(points, scalars, strict=True):
            total = total + point.scalar_mul(scalar % ORDER)
        return total

    def g1_is_identity(self, a: Any, /) -> bool:
        return bool(a == self._g1_identity)

    def g1_equal(self, a: Any, b: Any, /) -> bool:
        return bool(a == b)

    def g1_to_octets(self, a: Any, /) -> bytes:
        return bytes(a.compress())

    def octets_to_g1(self, octets: bytes, /) -> Any:
        return _decoded(self._g1_identity, octets, G1_OCTETS)

    def g2_mul(self, a: Any, k: int, /) -> Any:
        return a.scalar_mul(k % ORDER)

    def g2_is_identity(self, a: Any, /) -> bool:
        return bool(a == self._g2_identity)

    def g2_to_octets(self, a: Any, /) -> bytes:
        return bytes(a.compress())

    def octets_to_g2(self, octets: bytes, /) -> Any:
        return _decoded(self._g2_identity, octets, G2_OCTETS)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        return self._g1_identity.hash_to_group(message, checked_dst(dst))

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        loops = pyblst.BlstFP12Element()
        for a, b in pairs:
            loops = loops * pyblst.miller_loop(a, b)
        # One final exponentiation for the whole product: final_verify raises the quotient of its arguments.
        return bool(pyblst.final_verify(loops, pyblst.BlstFP12Element()))

    def fixed_bases(self, points: Sequence[Any], /, *, window: int | None = None) -> FixedBases:
        return WindowedBases(self, self._shelf, points, _WINDOW if window is None else window)


def _decoded(identity: Any, octets: bytes, length: int) -> Any:
    """``uncompress`` checks curve, subgroup and canonical form; length and identity are left to us."""
    if len(octets) != length:
        raise InvalidPoint(f"a point has {length} octets")
    try:
        point = identity.uncompress(bytes(octets))
    except ValueError as fault:
        raise InvalidPoint("the octets encode no point of the subgroup") from fault
    if point == identity or point.compress() != octets:
        raise InvalidPoint("the octets encode the identity, or are not canonical")
    return point
