"""The backend on py_ecc (pure Python): works everywhere, and is the reference that the others are compared with.

Slow, and not constant-time in any way. Its traps, each closed here: a pairing with its own final exponentiation costs
four times what it must, and decoding checks no subgroup. All products are made by one interleaved multi-scalar
multiplication (Straus), so that the doublings are shared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, Z1, Z2, add, double, eq, is_inf, multiply, neg
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from identity_bbs.bls12381.backend import (
    G1_OCTETS,
    G2_OCTETS,
    ORDER,
    BaseCurve,
    DigitTable,
    FixedBases,
    PointSums,
    checked_dst,
)
from identity_bbs.bls12381.bucket_sums import BucketSums
from identity_bbs.bls12381.fixed_bases import PointDigits

_SCALAR_BITS: Final = 255
_WINDOW: Final = 4
_FIXED_WINDOW: Final = 6


class PyEccCurve(BaseCurve):
    """``Curve`` on py_ecc's projective points."""

    name = "py_ecc"
    constant_time = False

    def __init__(self) -> None:
        super().__init__(Z1, G1, G2)

    def g1_add(self, a: Any, b: Any, /) -> Any:
        """Return the sum of two points."""
        return add(a, b)

    def g1_neg(self, a: Any, /) -> Any:
        """Return the negation of a point."""
        return neg(a)

    def g1_mul(self, a: Any, k: int, /) -> Any:
        """Return ``k`` times ``a``."""
        return _interleaved(Z1, [_Term(Z1, a, k, _WINDOW)])

    def g1_msm(self, points: Sequence[Any], scalars: Sequence[int], /) -> Any:
        """Return the sum of the products of points and scalars."""
        return _interleaved(
            Z1, [_Term(Z1, point, scalar, _WINDOW) for point, scalar in zip(points, scalars, strict=True)]
        )

    g1_public_msm = g1_msm

    def g1_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return is_inf(a)

    def g1_equal(self, a: Any, b: Any, /) -> bool:
        """Return whether two points are equal."""
        return eq(a, b)

    def g1_to_octets(self, a: Any, /) -> bytes:
        """Encode a point in 48 bytes."""
        return compress_G1(a).to_bytes(G1_OCTETS, "big")

    def g2_mul(self, a: Any, k: int, /) -> Any:
        """Return ``k`` times ``a``."""
        return _interleaved(Z2, [_Term(Z2, a, k, _WINDOW)])

    def g2_is_identity(self, a: Any, /) -> bool:
        """Return whether ``a`` is the identity."""
        return is_inf(a)

    def g2_to_octets(self, a: Any, /) -> bytes:
        """Encode a point in 96 bytes."""
        return b"".join(half.to_bytes(G2_OCTETS // 2, "big") for half in compress_G2(a))

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> Any:
        """Hash a message to G1 (RFC 9380)."""
        return hash_to_G1(message, checked_dst(dst), hashlib.sha256)  # type: ignore[arg-type]

    def pairing_product_is_one(self, pairs: Sequence[tuple[Any, Any]], /) -> bool:
        """Return whether the product of the pairings is one."""
        product = FQ12.one()
        for a, b in pairs:
            product = product * pairing(b, a, final_exponentiate=False)
        return bool(final_exponentiate(product) == FQ12.one())

    @staticmethod
    def _uncompress_g1(data: bytes) -> Any:
        return _of_prime_order(decompress_G1(G1Compressed(int.from_bytes(data, "big"))))

    @staticmethod
    def _uncompress_g2(data: bytes) -> Any:
        halves = int.from_bytes(data[:G1_OCTETS], "big"), int.from_bytes(data[G1_OCTETS:], "big")
        return _of_prime_order(decompress_G2(G2Compressed(halves)))

    def fixed_bases(self, points: Sequence[Any], /, *, window: int | None = None) -> FixedBases:
        """Prepare points that are multiplied often."""
        return _MultiplesOfBases(points, _FIXED_WINDOW if window is None else window)

    def digit_table(self, points: Sequence[Any], radix: int, /) -> DigitTable:
        """Prepare the small multiples of points."""
        return PointDigits(self, points, radix)

    def point_sums(self, points: Sequence[Any], /) -> PointSums:
        """Prepare sums over these points."""
        return BucketSums(self, add, points)


class _MultiplesOfBases:
    """``FixedBases`` that keeps the small multiples of each point. Full tables would take seconds to build here."""

    def __init__(self, points: Sequence[Any], window: int) -> None:
        if not 1 <= window <= 8:
            raise ValueError("a window has 1 to 8 bits")
        self._points = tuple(points)
        self._window = window
        self._multiples: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._points)

    def msm(
        self, scalars: Sequence[int], indexes: Sequence[int] | None = None, *, also: Sequence[tuple[Any, int]] = ()
    ) -> Any:
        """Return the sum of products of the fixed points, and of the pairs in ``also``."""
        chosen = range(len(self._points)) if indexes is None else indexes
        terms = [_Term(Z1, point, scalar, _WINDOW) for point, scalar in also]
        for index, scalar in zip(chosen, scalars, strict=True):
            if not 0 <= index < len(self._points):
                raise IndexError(f"there is no fixed point number {index}")
            term = _Term(Z1, self._points[index], scalar, self._window, self._multiples.get(index))
            self._multiples[index] = term.multiples
            terms.append(term)
        return _interleaved(Z1, terms)


class _Term:
    """A point's multiples 0 … 2^window - 1, and the scalar whose digits choose among them."""

    __slots__ = ("multiples", "scalar", "window")

    def __init__(self, identity: Any, point: Any, scalar: int, window: int, multiples: list[Any] | None = None) -> None:
        if multiples is None:
            multiples = [identity, point]
            while len(multiples) < 1 << window:
                multiples.append(add(multiples[-1], point))
        self.multiples = multiples
        self.scalar = scalar % ORDER
        self.window = window


def _interleaved(identity: Any, terms: Iterable[_Term]) -> Any:
    """Return the sum of the products: at each bit a doubling, and at the end of each term's digit an addition."""
    terms = tuple(terms)
    total = identity
    for position in range(_SCALAR_BITS, -1, -1):
        if total is not identity:
            total = double(total)
        for term in terms:
            if position % term.window == 0:
                digit = (term.scalar >> position) & ((1 << term.window) - 1)
                if digit:
                    total = add(total, term.multiples[digit])
    return total


def _of_prime_order(point: Any) -> Any:
    """Return the point, if it is in the subgroup; tried by a plain multiplication, since ours reduces its scalars."""
    if not is_inf(multiply(point, ORDER)):
        raise ValueError("a point outside the subgroup")
    return point
