"""Precomputed multiples of fixed points.

A point's table holds, for each digit position of a scalar in base 2^window, all multiples for that position; a product
is then one addition for each position and no doubling. The backends without a multi-scalar multiplication win most by
it, and the others win too. Only curve additions are used: no arithmetic of ours on coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from operator import getitem
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from identity_bbs.bls12381.backend import G1, ORDER, SCALAR_OCTETS, Curve

Table = TypeVar("Table")

MAX_TABLE_OCTETS: Final = 64 << 20
POINT_OCTETS: Final = 185
"""A native point: an object of 168 bytes, for which the allocator takes 176; its slot in a list; the ends of lists and pools."""

TABLED_BITS: Final = 256
"""Of a scalar and one order more, which is what is looked up."""
OFFSET_DST: Final = b"IDENTITY-DIGIT-TABLE-V1_BLS12381G1_XMD:SHA-256_SSWU_RO_OFFSET_"


def scalar_digits(scalar: int, window: int) -> bytes:
    """Return the digits of a scalar of 256 bits in base 2^window, most significant first. An byte is a digit of eight bits, and
    much faster to take."""
    if window == 8:
        return scalar.to_bytes(SCALAR_OCTETS, "big")
    last, mask = window * (-(-TABLED_BITS // window) - 1), (1 << window) - 1
    return bytes([(scalar >> shift) & mask for shift in range(last, -1, -window)])


class TableShelf:
    """Counts the points in all living tables of one curve, so that together they stay within ``MAX_TABLE_OCTETS``."""

    def __init__(self, max_points: int = MAX_TABLE_OCTETS // POINT_OCTETS) -> None:
        self._max_points = max_points
        self._owners: WeakSet[TabledBases[Any]] = WeakSet()

    def register(self, owner: TabledBases[Any]) -> None:
        """Count the owner's tables from now on, for as long as it lives."""
        self._owners.add(owner)

    def has_room_for(self, points: int) -> bool:
        """Return whether that many points more stay within the limit."""
        return sum(owner.table_points for owner in self._owners) + points <= self._max_points


class TabledBases(Generic[Table]):
    """``FixedBases`` by tables. A point that finds no room on the shelf is multiplied as any other point is."""

    def __init__(self, curve: Curve, shelf: TableShelf, points: Sequence[G1], window: int) -> None:
        if not 1 <= window <= 8:
            raise ValueError("a window has 1 to 8 bits")
        self._curve = curve
        self._shelf = shelf
        self._points = tuple(points)
        self._window = window
        self._positions = -(-TABLED_BITS // window)
        self._tables: dict[int, Table | None] = {}
        shelf.register(self)

    def __len__(self) -> int:
        return len(self._points)

    @property
    def table_points(self) -> int:
        """Return how many points the tables hold now."""
        tabled = sum(table is not None for table in tuple(self._tables.values()))
        return tabled * (self._positions << self._window)

    def msm(
        self, scalars: Sequence[int], indexes: Sequence[int] | None = None, *, also: Sequence[tuple[G1, int]] = ()
    ) -> G1:
        """Return the sum of products of the fixed points, and of the pairs in ``also``."""
        chosen = range(len(self._points)) if indexes is None else indexes
        tables: list[Table] = []
        digits: list[bytes] = []
        untabled = list(also)
        for index, scalar in zip(chosen, scalars, strict=True):
            table = self._table(index)
            if table is None:
                untabled.append((self._points[index], scalar))
            else:
                tables.append(table)
                # One order more is the same product; a small scalar has then no run of zeros, whose entries are faster to reach.
                digits.append(scalar_digits(scalar % ORDER + ORDER, self._window))
        total = self._sum(tables, b"".join(digits))
        if untabled:
            products = self._curve.g1_msm([point for point, _ in untabled], [scalar for _, scalar in untabled])
            total = self._curve.g1_add(total, products)
        return total

    def _table(self, index: int) -> Table | None:
        if index not in self._tables:
            if not 0 <= index < len(self._points):
                raise IndexError(f"there is no fixed point number {index}")
            has_room = self._shelf.has_room_for(self._positions << self._window)
            # The first of two threads that make it stays: what this returns may be read by its addresses in memory.
            self._tables.setdefault(index, self._build(self._points[index]) if has_room else None)
        return self._tables[index]

    def _build(self, base: G1) -> Table:
        raise NotImplementedError

    def _sum(self, tables: Sequence[Table], digits: bytes) -> G1:
        """Return the sum of the entries of these digits, most significant first of each table."""
        raise NotImplementedError


class WindowedBases(TabledBases[list[list[Any]]]):
    """``FixedBases`` by points whose ``+`` is the group's addition, as pyblst has them.

    ``sum`` then adds without a Python frame an addition, which is half of the time. Each entry is shifted by a point O of unknown
    logarithm and a sum of n starts at -n·O, as in ``DigitTable``: the identity is added faster than a point, and would reveal how many
    digits are zero.
    """

    def __init__(self, curve: Curve, shelf: TableShelf, points: Sequence[G1], window: int) -> None:
        super().__init__(curve, shelf, points, window)
        self._offset: Any = curve.hash_to_g1(b"", OFFSET_DST)
        self._minus_offset: Any = curve.g1_neg(self._offset)
        self._starts: dict[int, Any] = {0: curve.g1_identity()}

    def _sum(self, tables: Sequence[list[list[Any]]], digits: bytes) -> G1:
        total: G1 = sum(map(getitem, chain.from_iterable(tables), digits), self._start(len(digits)))
        return total

    def _start(self, count: int) -> Any:
        """Return the point that removes the offsets of this number of entries."""
        if count not in self._starts:
            self._starts[count] = self._curve.g1_mul(self._minus_offset, count)
        return self._starts[count]

    def _build(self, base: Any) -> list[list[Any]]:
        """Return one row for each position, most significant first; a row starts with the offset."""
        rows: list[list[Any]] = []
        for _ in range(self._positions):
            # A copy for each row: were it one object, it would be in the cache whenever digits are zero.
            shifted = self._offset + self._curve.g1_identity()
            row = [shifted]
            for _ in range((1 << self._window) - 1):
                shifted = shifted + base
                row.append(shifted)
            rows.append(row)
            base = shifted + base + self._minus_offset
        rows.reverse()
        return rows


def check_radix(radix: int) -> None:
    """Raise ``ValueError`` unless digits of this radix are bytes."""
    if not 2 <= radix <= 256:
        raise ValueError("a radix is 2 to 256")


def check_digits(digits: Sequence[int], points: int, radix: int) -> None:
    """Raise ``ValueError`` if there are more digits than points, or a digit that is not 0 to radix - 1."""
    if len(digits) > points:
        raise ValueError(f"{len(digits)} digits for {points} points")
    if digits and not 0 <= min(digits) <= max(digits) < radix:
        raise ValueError(f"a digit is not in 0 to {radix - 1}")


class PointDigits:
    """``DigitTable`` by points of any curve.

    Each entry is shifted by a point O of unknown logarithm and the sum starts at -n·O, so that a digit of zero costs an
    addition like every other: the time does not reveal how many digits are zero.
    """

    def __init__(self, curve: Curve, points: Sequence[G1], radix: int) -> None:
        check_radix(radix)
        self._curve = curve
        self._radix = radix
        offset = curve.hash_to_g1(b"", OFFSET_DST)
        minus_offset = curve.g1_neg(offset)
        self._starts = [curve.g1_identity()]
        self._rows: list[list[G1]] = []
        for point in points:
            row = [offset]
            while len(row) < radix:
                row.append(curve.g1_add(row[-1], point))
            self._rows.append(row)
            self._starts.append(curve.g1_add(self._starts[-1], minus_offset))

    def __len__(self) -> int:
        return len(self._rows)

    def sum(self, digits: Sequence[int]) -> G1:
        """Return the sum of the products of the first points."""
        check_digits(digits, len(self._rows), self._radix)
        return reduce(self._curve.g1_add, map(getitem, self._rows, digits), self._starts[len(digits)])
