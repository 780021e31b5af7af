"""Tables give what plain multiplications give, whatever the window, and stay within their memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.crypto.bls12381 import ORDER, Curve, DigitTable
from identity_core.crypto.bls12381.fixed_bases import TableShelf, WindowedBases

from .test_curves import EVERY_BACKEND

SCALARS = [0, 1, ORDER - 1, (1 << 255) % ORDER, 0xFF << 120, 1 << 254]


def multiples(curve: Curve, count: int):
    return [curve.g1_mul(curve.g1_generator(), 2 + number) for number in range(count)]


@pytest.mark.parametrize("window", [1, 3, 6, 7, 8])
def test_every_window(curve: Curve, window: int):
    points = multiples(curve, len(SCALARS))
    bases = curve.fixed_bases(points, window=window)
    assert len(bases) == len(points)
    for _ in range(2):  # the second time from tables that are there
        assert curve.g1_equal(bases.msm(SCALARS), curve.g1_msm(points, SCALARS))


@EVERY_BACKEND
@given(scalars=st.lists(st.integers(-ORDER, 2 * ORDER), min_size=3, max_size=3), other=st.integers(0, ORDER))
def test_chosen_bases_and_others(curve: Curve, scalars: list[int], other: int):
    points = multiples(curve, 4)
    bases = curve.fixed_bases(points, window=2)
    extra = curve.g1_mul(curve.g1_generator(), 77)
    result = bases.msm(scalars, [3, 0, 3], also=[(extra, other)])
    expected = curve.g1_msm([points[3], points[0], points[3], extra], [*scalars, other])
    assert curve.g1_equal(result, expected)


def test_no_terms_at_all(curve: Curve):
    bases = curve.fixed_bases(multiples(curve, 2))
    assert curve.g1_is_identity(bases.msm([], []))
    assert curve.g1_equal(bases.msm([], [], also=[(curve.g1_generator(), 1)]), curve.g1_generator())


@pytest.mark.parametrize("index", [-1, 2, 3])
def test_an_index_that_is_none(curve: Curve, index: int):
    bases = curve.fixed_bases(multiples(curve, 2), window=1)
    bases.msm([1, 1])
    with pytest.raises(IndexError, match=f"no fixed point number {index}"):
        bases.msm([1], [index])


@pytest.mark.parametrize("window", [0, 9])
def test_a_window_that_is_none(curve: Curve, window: int):
    with pytest.raises(ValueError, match="window"):
        curve.fixed_bases([], window=window)


@pytest.mark.parametrize("curve", ["pyblst", "arkworks"], indirect=True)
@pytest.mark.parametrize(("window", "rows"), [(1, 255), (2, 128), (3, 85), (5, 51), (8, 32)])
def test_a_table_has_a_row_for_each_digit_of_255_bits(curve: Curve, window: int, rows: int):
    bases = WindowedBases(curve, TableShelf(), multiples(curve, 2), window)
    bases.msm([1], [0])
    assert bases.table_points == rows << window


@pytest.mark.parametrize("curve", ["pyblst", "arkworks"], indirect=True)
def test_a_full_shelf_costs_time_and_nothing_else(curve: Curve):
    points = multiples(curve, 3)
    shelf = TableShelf(max_points=2 * 128 * 4)
    bases = WindowedBases(curve, shelf, points, 2)
    assert curve.g1_equal(bases.msm(SCALARS[:3]), curve.g1_msm(points, SCALARS[:3]))
    assert bases.table_points == 2 * 128 * 4
    late = WindowedBases(curve, shelf, points, 2)
    assert curve.g1_equal(late.msm(SCALARS[:3]), curve.g1_msm(points, SCALARS[:3]))
    assert late.table_points == 0
    del bases
    freed = WindowedBases(curve, shelf, points, 2)
    freed.msm([1], [0])
    assert freed.table_points == 128 * 4


@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_digit_table(curve: Curve, radix: int):
    points = multiples(curve, 5)
    table = DigitTable(curve, points, radix)
    assert len(table) == 5
    for digits in ([0] * 5, [radix - 1] * 5, [1, 0, radix - 1], [], [0]):
        assert curve.g1_equal(table.sum(digits), curve.g1_msm(points[: len(digits)], digits))


@pytest.mark.parametrize(
    ("digits", "reason"),
    [
        ([4], "not in 0 to 3$"),
        ([-1], "not in 0 to 3$"),
        ([0, 9], "not in 0 to 3$"),
        ([0, 0, 0], "3 digits for 2 points"),
    ],
)
def test_digits_that_are_none(curve: Curve, digits: list[int], reason: str):
    with pytest.raises(ValueError, match=reason):
        DigitTable(curve, multiples(curve, 2), 4).sum(digits)


def test_a_radix_that_is_none(curve: Curve):
    with pytest.raises(ValueError, match="radix"):
        DigitTable(curve, [], 1)


def test_zero_digits_cost_as_many_additions(curve: Curve, monkeypatch):
    table = DigitTable(curve, multiples(curve, 6), 4)
    counts = []
    add = type(curve).g1_add
    for digits in ([0] * 6, [3] * 6, [0, 1, 2, 3, 0, 1]):
        seen: list[None] = []
        monkeypatch.setattr(type(curve), "g1_add", lambda self, a, b, /: (seen.append(None), add(self, a, b))[1])  # noqa: B023
        table.sum(digits)
        counts.append(len(seen))
    assert counts == [6, 6, 6]
