"""The committed vector of a presentation: digits of intervals on linear forms, selectors, free scalars, and rows (PROTOCOL-2.md §6).

A **form** is a sum of messages with signs, over slots of any parts. An interval on a form has its digits in the vector. A **row** is a
relation a·b = d between affine forms in messages and elements; it states that one of several alternatives holds, or that a message is not
a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from identity_bound_credentials.domain.normal_form import Slot
from msgspec import Struct

from identity_bbs.bls12381 import ORDER
from identity_core.domain.proofs.predicate import unsupported
from identity_prover_bbs.committed_vector import octets_of_vector_proof
from identity_prover_bbs.plan import RADIX, Digit, plan
from identity_prover_bbs.suite2.generators import MAX_ELEMENTS

POINTS: Final = RADIX
"""A and T_1 … T_3 are sent; the coefficients are T_0 … T_3."""
MAX_ROWS: Final = 32
SELECTOR: Final = Digit(1, 2)

Key = Slot | int
"""A message by its slot, or an element of the vector by its index."""


class Affine(NamedTuple):
    """constant + the sum of coefficient·value. In responses and masks the constant 1 has the value c and 0."""

    constant: int
    terms: tuple[tuple[int, Key], ...]

    def evaluate(self, one: int, values: Mapping[Key, int]) -> int:
        """Return its value modulo r, from 0 to r - 1."""
        return (self.constant * one + sum([factor * values[key] for factor, key in self.terms])) % ORDER


class Row(NamedTuple):
    """a·b = d."""

    a: Affine
    b: Affine
    d: int


class Side(NamedTuple):
    """One alternative of a group."""

    group: int
    place: int


class Interval(NamedTuple):
    """low <= form <= high. Of the intervals of one group at least one holds; only there ``low`` may be ``high``."""

    form: tuple[tuple[int, Slot], ...]
    low: int
    high: int
    side: Side | None = None

    @property
    def digits(self) -> tuple[Digit, ...]:
        """The digits of the distance to ``low``."""
        return plan(self.high - self.low) if self.high > self.low else ()


class Unequal(NamedTuple):
    """The slot's message is another scalar than this."""

    slot: Slot
    scalar: int


class VectorLayout(Struct, frozen=True):
    """The public shape: digits of all intervals, then selectors by group, then one free scalar for each inequality. ``spans`` has where
    the digits of each interval stand; ``sent`` are the responses that are not derived."""

    intervals: tuple[Interval, ...]
    unequal: tuple[Unequal, ...]
    digits: tuple[Digit, ...]
    spans: tuple[range, ...]
    selectors: Mapping[Side, int]
    sent: tuple[int, ...]
    gaps: tuple[Affine, ...]
    rows: tuple[Row, ...]

    @classmethod
    def from_intervals(cls, intervals: Sequence[Interval], unequal: Sequence[Unequal]) -> VectorLayout:
        """Return the layout that prover and verifier both compute. Raises ``PredicateUnsupported`` where it is too large."""
        digits: list[Digit] = []
        spans: list[range] = []
        sent: list[int] = []
        for interval in intervals:
            span = range(len(digits), len(digits) + len(interval.digits))
            digits += interval.digits
            spans.append(span)
            # The last response of an interval that must hold follows from the messages' responses.
            sent += span if interval.side is not None else span[:-1]
        places = sorted(interval.side for interval in intervals if interval.side is not None)
        selectors = dict(zip((side for side in places if side.place > 0), count(len(digits)), strict=False))
        digits += [SELECTOR] * len(selectors)
        total = len(digits) + len(unequal)
        sent += range(len(digits) - len(selectors), total)
        gaps = tuple(_gap(interval, span) for interval, span in zip(intervals, spans, strict=True))
        rows = [
            Row(_chosen(interval.side, selectors), gap, 0)
            for interval, gap in zip(intervals, gaps, strict=True)
            if interval.side is not None
        ]
        for index, (slot, scalar) in enumerate(unequal, len(digits)):
            rows.append(Row(Affine(-scalar, ((1, slot),)), Affine(0, ((1, index),)), 1))
        if total > MAX_ELEMENTS or len(rows) > MAX_ROWS:
            raise unsupported(
                f"the question needs {total} elements and {len(rows)} rows; {MAX_ELEMENTS} and {MAX_ROWS} are the most"
            )
        return cls(
            tuple(intervals), tuple(unequal), tuple(digits), tuple(spans), selectors, tuple(sent), gaps, tuple(rows)
        )

    @property
    def elements(self) -> int:
        """Return how many scalars the vector has."""
        return len(self.digits) + len(self.unequal)

    @property
    def byte_count(self) -> int:
        """The length of an argument: 192 + 32·(responses + 2), or nothing where nothing is argued."""
        return octets_of_vector_proof(POINTS, len(self.sent)) if self.elements or self.rows else 0


def _gap(interval: Interval, span: range) -> Affine:
    """form - low - the weighted digits: zero where the interval holds."""
    weighted = [(-digit.weight, index) for digit, index in zip(interval.digits, span, strict=True)]
    return Affine(-interval.low, (*interval.form, *weighted))


def _chosen(side: Side, selectors: Mapping[Side, int]) -> Affine:
    """Return a product that is zero for each alternative but those that must hold: its selector, or for the first 1 -
    the sum of all selectors."""
    if side.place > 0:
        return Affine(0, ((1, selectors[side]),))
    return Affine(1, tuple((-1, index) for other, index in selectors.items() if other.group == side.group))
