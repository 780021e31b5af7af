"""The backend on py_arkworks_bls12381 (arkworks, Rust): wheels for nearly every platform, not constant-time.

Its traps, each closed here: ``multiexp_unchecked`` cuts unequal lists in silence, ``Scalar(int)`` is slow and
overflows, and the identity is accepted in encodings that are not canonical.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

from identity_core.crypto.bls12381.backend import ORDER, SCALAR_OCTETS, checked_dst
from identity_core.crypto.bls12381.fixed_bases import NativeCurve


class ArkworksCurve(NativeCurve):
    """``Curve`` on arkworks' projective points."""

    name = "arkworks"
    constant_time = False

    def __init__(self) -> None:
        super().__init__(
            g1_identity=G1Point.identity(),
            g2_identity=G2Point.identity(),
            uncompress_g1=G1Point.from_compressed_bytes,
            uncompress_g2=G2Point.from_compressed_bytes,
            to_octets=methodcaller("to_compressed_bytes"),
        )

    def g1_mul(self, a: Any, k: int, /) -> Any:
        return a * _scalar(k)

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        if len(points) != len(scalars):  # the library would cut the longer list off in silence
            raise ValueError(f"{len(points)} points and {len(scalars)} scalars")
        if not points:
            return self._g1_identity
        return G1Point.multiexp_unchecked(list(points), [_scalar(scalar) for scalar in scalars])

    def g2_mul(self, a: Any, k: int, /) -> Any:
        return a * _scalar(k)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        return G1Point.hash_to_curve(message, checked_dst(dst))

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        return bool(GT.pairing_check([a for a, _ in pairs], [b for _, b in pairs]))


def _scalar(k: int) -> Scalar:
    return Scalar.from_be_bytes((k % ORDER).to_bytes(SCALAR_OCTETS, "big"))
