"""Tables of affine points for the backend blst, and sums over them: one call adds any number of points with a shared inversion."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from identity_bbs.bls12381.blst_interface import ADDRESSES, P1, blst, ffi
from identity_bbs.bls12381.blst_sums import affine_points
from identity_bbs.bls12381.fixed_bases import MAX_TABLE_OCTETS, OFFSET_DST, TabledBases, check_digits, check_radix

if TYPE_CHECKING:
    from identity_bbs.bls12381.blst import BlstCurve

_AFFINE_OCTETS: Final = 96
_ADDRESS_OCTETS: Final = 8
MAX_POINTS: Final = MAX_TABLE_OCTETS // _AFFINE_OCTETS
_LOW, _HIGH = (bytes(_AFFINE_OCTETS * digit >> shift & 0xFF for digit in range(256)) for shift in (0, 8))
"""The two bytes of how far the entry of a digit is from the start of its row."""


class AffinePoints:
    """Points in affine coordinates, one behind the other in memory; none of them is the identity."""

    __slots__ = ("_memory", "start")

    def __init__(self, points: Sequence[Any]) -> None:
        self._memory = affine_points(points)
        self.start = int(ffi.cast("uintptr_t", self._memory))

    def rows(self, width: int) -> bytes:
        """Return the addresses of every ``width``-th point, little-endian in eight bytes."""
        end = self.start + _AFFINE_OCTETS * len(self._memory)
        addresses = range(self.start, end, _AFFINE_OCTETS * width)
        return b"".join([address.to_bytes(_ADDRESS_OCTETS, "little") for address in addresses])


def sum_at(addresses: array[int]) -> Any:
    """Return the sum of the affine points at these addresses, in a time that depends on their number alone."""
    out = ffi.new(P1)
    blst.blst_p1s_add(out, ffi.cast(ADDRESSES, ffi.from_buffer(addresses)), len(addresses))
    return out


class Offset:
    """The point O that shifts the entries of tables, and the point that removes such shifts again. Its logarithm is unknown.

    So no entry is the identity, which would be added faster and reveal the number of zero digits.
    """

    def __init__(self, curve: BlstCurve) -> None:
        self._curve = curve
        self.point = curve.hash_to_g1(b"", OFFSET_DST)
        self.minus = curve.g1_neg(self.point)
        self._starts: dict[int, AffinePoints] = {}

    def start(self, count: int) -> int:
        """Return the address of -count·O."""
        if count not in self._starts:
            # The first of two threads that make it stays: memory that was replaced is freed, and the other has its address.
            self._starts.setdefault(count, AffinePoints([self._curve.g1_mul(self.minus, count)]))
        return self._starts[count].start

    def sum(self, rows: Sequence[bytes], digits: bytes) -> Any:
        """Return the sum of each row's entry of its digit, without the offsets, in a time that depends on their number alone."""
        if not digits:
            return self._curve.g1_identity()
        starts = b"".join(rows)
        distances = bytearray(len(starts))
        distances[::_ADDRESS_OCTETS], distances[1::_ADDRESS_OCTETS] = digits.translate(_LOW), digits.translate(_HIGH)
        # All addresses by one addition of long integers, which carries nothing from one address into the next. Their order is of no
        # concern: on a big-endian machine it is the reverse.
        total = int.from_bytes(starts, "little") + int.from_bytes(distances, "little")
        addresses = array("Q", total.to_bytes(len(starts), sys.byteorder))
        addresses.append(self.start(len(digits)))
        return sum_at(addresses)

    def multiples(self, base: Any, count: int) -> list[Any]:
        """O, O + base … O + (count - 1)·base."""
        row = [self.point]
        while len(row) < count:
            row.append(self._curve.g1_add(row[-1], base))
        return row


class _Table(NamedTuple):
    entries: AffinePoints
    rows: bytes
    """The addresses of a row for each position, most significant first."""


class AffineBases(TabledBases[_Table]):
    """``FixedBases`` by tables of affine points, each entry shifted by the offset."""

    def __init__(self, curve: BlstCurve, points: Sequence[Any], window: int) -> None:
        super().__init__(curve, curve.shelf, points, window)
        self._offset = curve.offset

    def _sum(self, tables: Sequence[_Table], digits: bytes) -> Any:
        return self._offset.sum([table.rows for table in tables], digits)

    def _build(self, base: Any) -> _Table:
        plus, offset, width = self._curve.g1_add, self._offset, 1 << self._window
        rows: list[list[Any]] = []
        for _ in range(self._positions):
            rows.append(offset.multiples(base, width))
            base = plus(plus(rows[-1][-1], base), offset.minus)
        entries = AffinePoints([*chain.from_iterable(reversed(rows))])
        return _Table(entries, entries.rows(width))


class AffineDigits:
    """``DigitTable`` by affine points, each entry shifted by the offset."""

    def __init__(self, curve: BlstCurve, points: Sequence[Any], radix: int) -> None:
        check_radix(radix)
        self._curve = curve
        self._radix = radix
        self._entries = AffinePoints([*chain.from_iterable(curve.offset.multiples(one, radix) for one in points)])
        self._rows = self._entries.rows(radix)

    def __len__(self) -> int:
        return len(self._rows) // _ADDRESS_OCTETS

    def sum(self, digits: Sequence[int]) -> Any:
        """Return the sum of the products of the first points."""
        check_digits(digits, len(self), self._radix)
        return self._curve.offset.sum([self._rows[: _ADDRESS_OCTETS * len(digits)]], bytes(digits))
