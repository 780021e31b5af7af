"""The backend on blst itself, by its C interface.

pyblst has neither sums of many points nor prepared pairings; blst has both. A sum over tables is one call that adds affine points with
a shared inversion, which takes less than half of adding them one by one from Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from identity_bbs.bls12381.backend import (
    G1_OCTETS,
    ORDER,
    SCALAR_OCTETS,
    BaseCurve,
    DigitTable,
    FixedBases,
    PointSums,
    checked_dst,
)
from identity_bbs.bls12381.blst_interface import (
    BYTES,
    FP12,
    G1_ENCODED,
    G2_ENCODED,
    LINES,
    P1,
    P1_AFFINE,
    P2,
    P2_AFFINE,
    blst,
    ffi,
)
from identity_bbs.bls12381.blst_sums import SignedDigitSums, affine_points, sum_by_buckets
from identity_bbs.bls12381.blst_tables import MAX_POINTS, AffineBases, AffineDigits, Offset
from identity_bbs.bls12381.fixed_bases import TableShelf

_SCALAR_BITS: Final = 255
_WINDOW: Final = 8
_LINES_KEPT: Final = 256
"""Of so many points of G2, 19.6 kB each: issuers' keys and the generator come again and again."""


class BlstCurve(BaseCurve):
    """``Curve`` on blst's Jacobian points."""

    name = "blst"
    constant_time = True

    def __init__(self) -> None:
        g1, g2 = ffi.new(P1, blst.blst_p1_generator()[0]), ffi.new(P2, blst.blst_p2_generator()[0])
        super().__init__(ffi.new(P1), g1, g2)
        self.offset = Offset(self)
        self.shelf = TableShelf(MAX_POINTS)

    def g1_add(self, a: Any, b: Any, /) -> Any:
        """Return the sum of two points."""
        out = ffi.new(P1)
        blst.blst_p1_add_or_double(out, a, b)
        return out

    def g1_neg(self, a: Any, /) -> Any:
        """Return the negation of a point."""
        out = ffi.new(P1, a[0])
        blst.blst_p1_cneg(out, True)
        return out

    def g1_mul(self, a: Any, k: int, /) -> Any:
        """Return ``k`` times ``a``."""
        out = ffi.new(P1)
        blst.blst_p1_mult(out, a, (k % ORDER).to_bytes(SCALAR_OCTETS, "little"), _SCALAR_BITS)
        return out

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        """Return the sum of the products of points and scalars."""
        # blst's own sum of products takes a time that depends on the scalars, and is no faster for fewer than forty points.
        total = self._identity
        for point, scalar in zip(points, scalars, strict=True):
            total = self.g1_add(total, self.g1_mul(point, scalar))
        return total

    def g1_public_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        """Return the sum of the products of points and public scalars."""
        terms = [
            (point, scalar % ORDER)
            for point, scalar in zip(points, scalars, strict=True)
            if not blst.blst_p1_is_inf(point)
        ]
        bits = max((scalar.bit_length() for _, scalar in terms), default=0)
        if bits == 0:
            return self._identity
        if len(terms) == 1:
            out = ffi.new(P1)
            blst.blst_p1_mult(out, terms[0][0], terms[0][1].to_bytes(SCALAR_OCTETS, "little"), bits)
            return out
        return sum_by_buckets([point for point, _ in terms], [scalar for _, scalar in terms], bits)

    def g1_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return bool(blst.blst_p1_is_inf(a))

    def g1_equal(self, a: Any, b: Any, /) -> bool:
        """Return whether two points are equal."""
        return bool(blst.blst_p1_is_equal(a, b))

    def g1_to_octets(self, a: Any, /) -> bytes:
        """Encode a point in 48 bytes."""
        out = ffi.new(G1_ENCODED)
        blst.blst_p1_compress(out, a)
        return bytes(out)

    def g1s_to_octets(self, points: Sequence[Any], /) -> list[bytes]:
        """Encode each point in 48 bytes."""
        affine, out = affine_points(points), ffi.new(BYTES, G1_OCTETS * len(points))
        places = range(0, len(out), G1_OCTETS)
        for number, place in enumerate(places):
            blst.blst_p1_affine_compress(out + place, affine + number)
        data = bytes(out)
        return [data[place : place + G1_OCTETS] for place in places]

    def g2_mul(self, a: Any, k: int, /) -> Any:
        """Return ``k`` times ``a``."""
        out = ffi.new(P2)
        blst.blst_p2_mult(out, a, (k % ORDER).to_bytes(SCALAR_OCTETS, "little"), _SCALAR_BITS)
        return out

    def g2_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return bool(blst.blst_p2_is_inf(a))

    def g2_to_octets(self, a: Any, /) -> bytes:
        """Encode a point in 96 bytes."""
        out = ffi.new(G2_ENCODED)
        blst.blst_p2_compress(out, a)
        return bytes(out)

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        """Hash a message to G1 (RFC 9380)."""
        out = ffi.new(P1)
        blst.blst_hash_to_g1(out, message, len(message), checked_dst(dst), len(dst), ffi.NULL, 0)
        return out

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        """Return whether the product of the pairings is one."""
        product = None
        for a, b in pairs:
            # A pairing with the identity is one, and has no lines.
            if blst.blst_p1_is_inf(a) or blst.blst_p2_is_inf(b):
                continue
            affine, loop = ffi.new(P1_AFFINE), ffi.new(FP12)
            blst.blst_p1_to_affine(affine, a)
            blst.blst_miller_loop_lines(loop, _lines(bytes(ffi.buffer(b))), affine)
            if product is None:
                product = loop
            else:
                blst.blst_fp12_mul(product, product, loop)
        if product is None:
            return True
        blst.blst_final_exp(product, product)
        return bool(blst.blst_fp12_is_one(product))

    @staticmethod
    def _uncompress_g1(data: bytes) -> Any:
        affine = ffi.new(P1_AFFINE)
        if blst.blst_p1_uncompress(affine, data) or not blst.blst_p1_affine_in_g1(affine):
            raise ValueError("no point of the subgroup")
        out = ffi.new(P1)
        blst.blst_p1_from_affine(out, affine)
        return out

    @staticmethod
    def _uncompress_g2(data: bytes) -> Any:
        affine = ffi.new(P2_AFFINE)
        if blst.blst_p2_uncompress(affine, data) or not blst.blst_p2_affine_in_g2(affine):
            raise ValueError("no point of the subgroup")
        out = ffi.new(P2)
        blst.blst_p2_from_affine(out, affine)
        return out

    def fixed_bases(self, points: Sequence[Any], /, *, window: int | None = None) -> FixedBases:
        """Prepare points that are multiplied often."""
        return AffineBases(self, points, _WINDOW if window is None else window)

    def digit_table(self, points: Sequence[Any], radix: int, /) -> DigitTable:
        """Prepare the small multiples of points."""
        return AffineDigits(self, points, radix)

    def point_sums(self, points: Sequence[Any], /) -> PointSums:
        """Prepare sums over these points."""
        return SignedDigitSums(points)


@lru_cache(maxsize=_LINES_KEPT)
def _lines(memory: bytes) -> Any:
    """Return the lines of a Miller loop for the point of G2 that these bytes are in memory; they serve every point of G1."""
    point, affine, lines = ffi.new(P2), ffi.new(P2_AFFINE), ffi.new(LINES)
    ffi.memmove(point, memory, len(memory))
    blst.blst_p2_to_affine(affine, point)
    blst.blst_precompute_lines(lines, affine)
    return lines
