"""Tables of affine points for the backend blst, and sums over them: one call adds any number of points with a shared inversion."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakSet

from identity_bbs.bls12381.backend import ORDER, Curve
from identity_bbs.bls12381.blst_interface import ADDRESSES, P1, blst, ffi
from identity_bbs.bls12381.blst_sums import affine_points
from identity_bbs.bls12381.fixed_bases import (
    MAX_TABLE_OCTETS,
    OFFSET_DST,
    TABLED_BITS,
    check_digits,
    check_radix,
    scalar_digits,
)

_AFFINE_OCTETS: Final = 96
_ADDRESS_OCTETS: Final = 8
_LOW, _HIGH = (bytes(_AFFINE_OCTETS * digit >> shift & 0xFF for digit in range(256)) for shift in (0, 8))
"""The two bytes of how far the entry of a digit is from the start of its row."""


class TabledCurve(Curve, Protocol):
    """A curve with what its tables share."""

    @property
    def offset(self) -> Offset:
        """Return the offset of all entries."""
        ...

    @property
    def tabled(self) -> WeakSet[AffineBases]:
        """Return the object whose memory is counted."""
        ...


class AffinePoints:
    """Points in affine coordinates, one behind the other in memory; none of them is the identity."""

    __slots__ = ("_memory", "start")

    def __init__(self, points: Sequence[Any]) -> None:
        self._memory = affine_points(points)
        self.start = int(ffi.cast("uintptr_t", self._memory))

    def rows(self, width: int) -> bytes:
        """The addresses of every ``width``-th point, little-endian in eight bytes."""
        end = self.start + _AFFINE_OCTETS * len(self._memory)
        addresses = range(self.start, end, _AFFINE_OCTETS * width)
        return b"".join([address.to_bytes(_ADDRESS_OCTETS, "little") for address in addresses])


def sum_at(addresses: array[int]) -> Any:
    """The sum of the affine points at these addresses, in a time that depends on their number alone."""
    out = ffi.new(P1)
    blst.blst_p1s_add(out, ffi.cast(ADDRESSES, ffi.from_buffer(addresses)), len(addresses))
    return out


class Offset:
    """The point O that shifts the entries of tables, and the point that removes such shifts again. Its logarithm is unknown.

    So no entry is the identity, which would be added faster and reveal the number of zero digits.
    """

    def __init__(self, curve: TabledCurve) -> None:
        self._curve = curve
        self.point = curve.hash_to_g1(b"", OFFSET_DST)
        self.minus = curve.g1_neg(self.point)
        self._starts: dict[int, AffinePoints] = {}

    def start(self, count: int) -> int:
        """The address of -count·O."""
        if count not in self._starts:
            # The first of two threads that make it stays: memory that was replaced is freed, and the other has its address.
            self._starts.setdefault(count, AffinePoints([self._curve.g1_mul(self.minus, count)]))
        return self._starts[count].start

    def sum(self, rows: Sequence[bytes], digits: bytes) -> Any:
        """The sum of each row's entry of its digit, without the offsets, in a time that depends on their number alone."""
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


class AffineBases:
    """``FixedBases`` by tables of affine points, each entry shifted by the offset."""

    def __init__(self, curve: TabledCurve, points: Sequence[Any], window: int) -> None:
        if not 1 <= window <= 8:
            raise ValueError("a window has 1 to 8 bits")
        self._curve = curve
        self._points = tuple(points)
        self._window = window
        self._positions = -(-TABLED_BITS // window)
        self._tables: dict[int, _Table | None] = {}
        curve.tabled.add(self)

    def __len__(self) -> int:
        return len(self._points)

    @property
    def table_octets(self) -> int:
        """How much memory the tables take now."""
        return sum(table is not None for table in tuple(self._tables.values())) * self._octets_of_one

    @property
    def _octets_of_one(self) -> int:
        return _AFFINE_OCTETS * (self._positions << self._window)

    def msm(
        self, scalars: Sequence[int], indexes: Sequence[int] | None = None, *, also: Sequence[tuple[Any, int]] = ()
    ) -> Any:
        """Return the sum of products of the fixed points, and of the pairs in ``also``."""
        chosen = range(len(self._points)) if indexes is None else indexes
        rows: list[bytes] = []
        digits: list[bytes] = []
        untabled = list(also)
        for index, scalar in zip(chosen, scalars, strict=True):
            table = self._table(index)
            if table is None:
                untabled.append((self._points[index], scalar))
            else:
                rows.append(table.rows)
                # See ``WindowedBases``.
                digits.append(scalar_digits(scalar % ORDER + ORDER, self._window))
        total = self._curve.offset.sum(rows, b"".join(digits))
        if untabled:
            products = self._curve.g1_msm([point for point, _ in untabled], [scalar for _, scalar in untabled])
            total = self._curve.g1_add(total, products)
        return total

    def _table(self, index: int) -> _Table | None:
        if index not in self._tables:
            if not 0 <= index < len(self._points):
                raise IndexError(f"there is no fixed point number {index}")
            taken = sum(owner.table_octets for owner in self._curve.tabled)
            has_room = taken + self._octets_of_one <= MAX_TABLE_OCTETS
            # As for ``Offset.start``: what this returns is read by its addresses.
            self._tables.setdefault(index, self._build(self._points[index]) if has_room else None)
        return self._tables[index]

    def _build(self, base: Any) -> _Table:
        plus, offset, width = self._curve.g1_add, self._curve.offset, 1 << self._window
        rows: list[list[Any]] = []
        for _ in range(self._positions):
            rows.append(offset.multiples(base, width))
            base = plus(plus(rows[-1][-1], base), offset.minus)
        entries = AffinePoints([*chain.from_iterable(reversed(rows))])
        return _Table(entries, entries.rows(width))


class AffineDigits:
    """``DigitTable`` by affine points, each entry shifted by the offset."""

    def __init__(self, curve: TabledCurve, points: Sequence[Any], radix: int) -> None:
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
