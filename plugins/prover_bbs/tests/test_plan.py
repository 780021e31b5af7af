"""Mixed-weight digits represent exactly their interval (Lemma 1 of PROTOCOL.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_prover_bbs.plan import RADIX, decompose, plan

UINT64 = st.integers(1, 2**64 - 1)


def sums(digits):
    reached = {0}
    for weight, radix in digits:
        reached = {total + weight * digit for total in reached for digit in range(radix)}
    return reached


def test_the_digits_reach_every_value_and_no_other():
    for width in range(1, 2000):
        assert sums(plan(width)) == set(range(width + 1))


def test_every_value_decomposes():
    for width in range(1, 2000):
        digits = plan(width)
        assert digits[-1].weight == 1
        for value in {0, 1, width // 2, width - 1, width}:
            chosen = decompose(digits, value)
            assert sum(weight * digit for (weight, _), digit in zip(digits, chosen, strict=True)) == value
            assert all(0 <= digit < radix for digit, (_, radix) in zip(chosen, digits, strict=True))
        for value in (-1, width + 1, width + 2**64):
            with pytest.raises(ValueError, match="outside"):
                decompose(digits, value)


@given(width=UINT64)
def test_64_bits(width):
    digits = plan(width)
    assert len(digits) <= 33
    assert digits[-1].weight == 1
    assert all(2 <= digit.radix <= RADIX for digit in digits)
    assert sum(digit.weight * (digit.radix - 1) for digit in digits) == width
    rest = width
    for weight, radix in digits:
        # No gap: a digit's weight is at most one more than what the lighter ones reach.
        rest -= weight * (radix - 1)
        assert weight <= rest + 1
    assert rest == 0
    for value in (0, 1, width - 1, width, width // 3):
        assert sum(w * e for (w, _), e in zip(digits, decompose(digits, value), strict=True)) == value
    for value in (-1, width + 1):
        with pytest.raises(ValueError, match="outside"):
            decompose(digits, value)


def test_no_interval_has_no_digits():
    for width in (0, -1):
        with pytest.raises(ValueError, match="no digits"):
            plan(width)


def test_the_digits_are_frozen():
    """The digits that prover and verifier compute alike, written down once."""
    assert [tuple(digit) for digit in plan(255)] == [(64, 4), (16, 4), (4, 4), (1, 4)]
    assert [tuple(digit) for digit in plan(10)] == [(2, 4), (1, 4), (1, 2)]
    assert (len(plan(2**64 - 1)), len(plan(2**63 - 1)), len(plan(2**64 - 2)), len(plan(17167))) == (32, 32, 33, 8)


def test_validity_takes_a_digit_more_every_third_day():
    """The sizes that FIGURES.md states: until 2059 both intervals of a day have 16 digits, or 17 where the day leaves 2
    modulo 3."""
    for day in range(20_454, 32_768, 7):
        assert len(plan(day)) + len(plan(65_535 - day)) == 16 + (day % 3 == 2)


def test_a_plan_is_made_once():
    assert plan(36_500) is plan(36_500)
