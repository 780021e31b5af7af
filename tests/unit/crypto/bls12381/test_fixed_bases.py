"""Tables give what plain multiplications give, whatever the window, and stay within their memory."""

from __future__ import annotations

import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_bbs.bls12381 import ORDER, Curve, fixed_bases
from identity_bbs.bls12381.fixed_bases import TableShelf, WindowedBases, scalar_digits
from tests.curves import curve_on

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


@pytest.mark.parametrize("curve", ["pyblst"], indirect=True)
@pytest.mark.parametrize(("window", "rows"), [(1, 256), (2, 128), (3, 86), (5, 52), (8, 32)])
def test_a_table_has_a_row_for_each_digit_of_256_bits(curve: Curve, window: int, rows: int):
    bases = WindowedBases(curve, TableShelf(), multiples(curve, 2), window)
    bases.msm([1], [0])
    assert bases.table_points == rows << window


@pytest.mark.parametrize("curve", ["pyblst"], indirect=True)
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


@pytest.mark.parametrize("radix", [2, 3, 4, 8, 256])
def test_digit_table(curve: Curve, radix: int):
    points = multiples(curve, 5)
    table = curve.digit_table(points, radix)
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
        curve.digit_table(multiples(curve, 2), 4).sum(digits)


@pytest.mark.parametrize("radix", [1, 257])
def test_a_radix_that_is_none(curve: Curve, radix: int):
    with pytest.raises(ValueError, match="a radix is 2 to 256"):
        curve.digit_table([], radix)


@pytest.fixture
def summed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many affine points each sum of the backend blst has added."""
    from identity_bbs.bls12381 import blst_tables

    counts: list[int] = []
    plain = blst_tables.sum_at

    def count_addresses(addresses: array[int]) -> Any:
        counts.append(len(addresses))
        return plain(addresses)

    monkeypatch.setattr(blst_tables, "sum_at", count_addresses)
    return counts


@pytest.fixture
def alone() -> Curve:
    """The backend blst, whose tables no other test has filled."""
    made: Curve = type(curve_on("blst"))()
    return made


@pytest.mark.parametrize(("window", "positions"), [(1, 256), (5, 52), (8, 32)])
def test_affine_sum_adds_constant_number_of_points(
    alone: Curve, summed: list[int], window: int, positions: int
) -> None:
    curve = alone
    bases, digits = curve.fixed_bases(multiples(curve, 3), window=window), curve.digit_table(multiples(curve, 6), 4)
    for scalars in ([0, 0, 0], [1, 2, 3], [ORDER - 1, 0, 1 << 254]):
        bases.msm(scalars)
    for few in ([0] * 6, [3] * 6, [0, 1, 2, 3, 0, 1]):
        digits.sum(few)
    assert summed == [3 * positions + 1] * 3 + [7] * 3


def test_concurrent_threads_create_one_table(alone: Curve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums read tables by their addresses: one that another thread's took the place of would be freed under it."""
    from identity_bbs.bls12381 import blst_tables

    both_began = threading.Barrier(2, timeout=60)
    plain = blst_tables.AffinePoints

    def begun(points: Any) -> Any:
        made = plain(points)
        both_began.wait()
        return made

    bases: Any = alone.fixed_bases(multiples(alone, 1), window=1)
    offset = alone.offset  # type: ignore[attr-defined]
    monkeypatch.setattr(blst_tables, "AffinePoints", begun)
    with ThreadPoolExecutor(2) as threads:
        tables = [*threads.map(bases._table, (0, 0))]
        starts = [*threads.map(offset.start, (7, 7))]
    assert tables[0] is tables[1] is bases._table(0)
    assert starts[0] == starts[1] == offset.start(7)


def test_affine_tables_stay_within_their_limit(alone: Any) -> None:
    curve = alone
    points = multiples(curve, 3)
    # Two tables of 128 rows of four points.
    curve.shelf = TableShelf(max_points=2 * 128 * 4)
    bases = curve.fixed_bases(points, window=2)
    assert curve.g1_equal(bases.msm(SCALARS[:3]), curve.g1_msm(points, SCALARS[:3]))
    assert bases.table_points == 2 * 128 * 4
    late = curve.fixed_bases(points, window=2)
    assert curve.g1_equal(late.msm(SCALARS[:3]), curve.g1_msm(points, SCALARS[:3]))
    assert late.table_points == 0


@pytest.mark.parametrize("curve", ["blst"], indirect=True)
def test_a_pairing_with_the_identity_is_one(curve: Curve) -> None:
    g1, g2 = curve.g1_generator(), curve.g2_generator()
    nothing = [(curve.g1_identity(), g2), (g1, curve.g2_mul(g2, 0))]
    assert curve.pairing_product_is_one(nothing)
    assert not curve.pairing_product_is_one([*nothing, (g1, g2)])
    assert curve.pairing_product_is_one([*nothing, (g1, g2), (curve.g1_neg(g1), g2)])


@pytest.mark.parametrize("curve", ["pyblst", "py_ecc"], indirect=True)
def test_zero_digits_cost_as_many_additions(curve: Curve, monkeypatch):
    table = curve.digit_table(multiples(curve, 6), 4)
    counts = []
    add = type(curve).g1_add
    for digits in ([0] * 6, [3] * 6, [0, 1, 2, 3, 0, 1]):
        seen: list[None] = []
        monkeypatch.setattr(type(curve), "g1_add", lambda self, a, b, /: (seen.append(None), add(self, a, b))[1])  # noqa: B023
        table.sum(digits)
        counts.append(len(seen))
    assert counts == [6, 6, 6]


@pytest.mark.parametrize("curve", ["pyblst"], indirect=True)
@pytest.mark.parametrize("scalar", [0, 1, ORDER - 1, ORDER, 1 << 64, -1])
def test_a_small_scalar_is_looked_up_as_any_other(curve: Curve, scalar: int, monkeypatch: pytest.MonkeyPatch):
    """Entries of the digit zero are faster to reach: no scalar has a run of them."""
    bases = WindowedBases(curve, TableShelf(), multiples(curve, 1), 8)
    seen: list[bytes] = []

    def noted(number: int, window: int) -> bytes:
        seen.append(scalar_digits(number, window))
        return seen[-1]

    monkeypatch.setattr(fixed_bases, "scalar_digits", noted)
    assert curve.g1_equal(bases.msm([scalar]), curve.g1_mul(multiples(curve, 1)[0], scalar))
    assert [one.count(0) <= 3 for one in seen] == [True]
