"""blst's own sums of products for the backend blst: over tables of signed digits, and by buckets.

Both add the points of a digit position in affine coordinates with a shared inversion, and double the sum between two positions. Neither
takes constant time: see ``PointSums`` and ``Curve.g1_public_msm``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from identity_bbs.bls12381.backend import ORDER, SCALAR_OCTETS, check_count
from identity_bbs.bls12381.blst_interface import BYTES, P1, P1S, P1S_AFFINE, POINTERS, SCALARS, SCRATCH, blst, ffi

_SCALAR_BITS: Final = 255
_WINDOW: Final = 10
"""Of 83 points: 0.69 ms and 4 MB; by windows of 8 bits 0.84 ms and 1 MB, of 12 bits 0.62 ms and 16 MB."""


class SignedDigitSums:
    """``PointSums`` by 512 multiples of each point, 48 kB; the negative digits are those of the negated point."""

    def __init__(self, points: Sequence[Any]) -> None:
        self._points = tuple(points)
        size = blst.blst_p1s_mult_wbits_precompute_sizeof(_WINDOW, len(points))
        self._table = ffi.new(P1S_AFFINE, size // ffi.sizeof("blst_p1_affine"))
        if points:
            affine = affine_points(points)
            blst.blst_p1s_mult_wbits_precompute(
                self._table, _WINDOW, ffi.new(POINTERS, [affine, ffi.NULL]), len(points)
            )

    def __len__(self) -> int:
        return len(self._points)

    def grown(self, points: Sequence[Any]) -> SignedDigitSums:
        """Return sums over these points and then those of ``points``."""
        # All rows stand behind one another in memory; they are made again faster than one could notice, 0.25 ms a point.
        return SignedDigitSums((*self._points, *points))

    def sum(self, scalars: Sequence[int]) -> Any:
        """Return the sum of the products of the first points."""
        check_count(scalars, len(self._points))
        out, count = ffi.new(P1), len(scalars)
        if count:
            data, pointers = _octets([scalar % ORDER for scalar in scalars], SCALAR_OCTETS)
            scratch = _scratch(blst.blst_p1s_mult_wbits_scratch_sizeof(count))
            blst.blst_p1s_mult_wbits(out, self._table, _WINDOW, count, pointers, _SCALAR_BITS, scratch)
            # The bytes must outlive the call: ``pointers`` has their address alone.
            del data
        return out


def sum_by_buckets(points: Sequence[Any], scalars: Sequence[int], bits: int) -> Any:
    """Return the sum of the products of scalars below 2^bits with points that are not the identity."""
    out = ffi.new(P1)
    affine = affine_points(points)
    data, pointers = _octets(scalars, -(-bits // 8))
    scratch = _scratch(blst.blst_p1s_mult_pippenger_scratch_sizeof(len(points)))
    blst.blst_p1s_mult_pippenger(out, ffi.new(POINTERS, [affine, ffi.NULL]), len(points), pointers, bits, scratch)
    del data
    return out


def affine_points(points: Sequence[Any]) -> Any:
    """Return the points in affine coordinates, one behind the other, by one inversion for all."""
    affine = ffi.new(P1S_AFFINE, len(points))
    if points:
        blst.blst_p1s_to_affine(affine, ffi.new(P1S, points), len(points))
    return affine


def _octets(scalars: Sequence[int], size: int) -> tuple[Any, Any]:
    """Return the scalars behind one another, and what blst wants to find them by: the address of the first, and an end."""
    data = ffi.new(BYTES, b"".join([scalar.to_bytes(size, "little") for scalar in scalars]))
    return data, ffi.new(SCALARS, [data, ffi.NULL])


def _scratch(byte_count: int) -> Any:
    return ffi.new(SCRATCH, -(-byte_count // 8))
