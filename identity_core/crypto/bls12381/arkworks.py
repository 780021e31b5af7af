"""The backend on py_arkworks_bls12381 (arkworks, Rust): wheels for nearly every platform, not constant-time.

Its traps, each closed here: ``multiexp_unchecked`` cuts unequal lists in silence, ``Scalar(int)`` is slow and
overflows, and the identity is accepted in encodings that are not canonical.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from identity_core.crypto.bls12381.backend import (
    G1_OCTETS,
    G2_OCTETS,
    ORDER,
    SCALAR_OCTETS,
    FixedBases,
    InvalidPoint,
    checked_dst,
)
from identity_core.crypto.bls12381.fixed_bases import TableShelf, WindowedBases

_WINDOW = 8


class ArkworksCurve:
    """``Curve`` on arkworks' projective points."""

    name = "arkworks"
    constant_time = False

    def __init__(self) -> None:
        self._g1_identity = G1Point.identity()
        self._g2_identity = G2Point.identity()
        self._shelf = TableShelf()

    def g1_identity(self) -> Any:
        return self._g1_identity

    def g1_generator(self) -> Any:
        return G1Point()

    def g2_generator(self) -> Any:
        return G2Point()

    def g1_add(self, a: Any, b: Any, /) -> Any:
        return a + b

    def g1_neg(self, a: Any, /) -> Any:
        return -a

    def g1_mul(self, a: Any, k: int, /) -> Any:
        return a * _scalar(k)

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        if len(points) != len(scalars):  # the library would cut the longer list off in silence
            raise ValueError(f"{len(points)} points and {len(scalars)} scalars")
        if not points:
            return self._g1_identity
        return G1Point.multiexp_unchecked(list(points), [_scalar(scalar) for scalar in scalars])

    def g1_is_identity(self, a: Any, /) -> bool:
        return bool(a == self._g1_identity)

    def g1_equal(self, a: Any, b: Any, /) -> bool:
        return bool(a == b)

    def g1_to_octets(self, a: Any, /) -> bytes:
        return bytes(a.to_compressed_bytes())

    def octets_to_g1(self, octets: bytes, /) -> Any:
        return _decoded(G1Point, octets, G1_OCTETS)

    def g2_mul(self, a: Any, k: int, /) -> Any:
        return a * _scalar(k)

    def g2_is_identity(self, a: Any, /) -> bool:
        return bool(a == self._g2_identity)

    def g2_to_octets(self, a: Any, /) -> bytes:
        return bytes(a.to_compressed_bytes())

    def octets_to_g2(self, octets: bytes, /) -> Any:
        return _decoded(G2Point, octets, G2_OCTETS)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        return G1Point.hash_to_curve(message, checked_dst(dst))

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        return bool(GT.pairing_check([a for a, _ in pairs], [b for _, b in pairs]))

    def fixed_bases(self, points: Sequence[Any], /, *, window: int | None = None) -> FixedBases:
        return WindowedBases(self, self._shelf, points, _WINDOW if window is None else window)


def _scalar(k: int) -> Scalar:
    return Scalar.from_be_bytes((k % ORDER).to_bytes(SCALAR_OCTETS, "big"))


def _decoded(group: type[Any], octets: bytes, length: int) -> Any:
    """``from_compressed_bytes`` checks curve and subgroup; the rest is left to us."""
    if len(octets) != length:
        raise InvalidPoint(f"a point has {length} octets")
    try:
        point = group.from_compressed_bytes(bytes(octets))
    except ValueError as fault:
        raise InvalidPoint("the octets encode no point of the subgroup") from fault
    if point == group.identity() or point.to_compressed_bytes() != octets:
        raise InvalidPoint("the octets encode the identity, or are not canonical")
    return point
