"""The arithmetic of fees."""

from __future__ import annotations

import pytest
from identity_ledger_evm.fees import GWEI, FeeRule, Fees, gas_for


def test_the_first_offer_is_twice_the_base_fee_and_the_tip() -> None:
    assert FeeRule(3, None).first(100) == Fees(203, 3)


@pytest.mark.parametrize("base_fee", [0, 1, 7, GWEI, 10**14])
@pytest.mark.parametrize("last", [Fees(0, 0), Fees(1, 1), Fees(203, 3), Fees(10**12, 10**9)])
def test_replacement_is_eighth_above_in_both_parts(base_fee: int, last: Fees) -> None:
    found = FeeRule(GWEI, None).replacement(last, base_fee)
    assert found is not None
    assert found.most * 8 >= last.most * 9
    assert found.tip * 8 >= last.tip * 9
    assert found.most >= 2 * base_fee + found.tip


def test_the_cap_lowers_the_offer_and_never_below_the_base_fee() -> None:
    rule = FeeRule(10, 150)
    assert rule.first(100) == Fees(150, 10)
    assert rule.first(150) == Fees(150, 10)
    assert rule.first(151) is None
    assert rule.replacement(Fees(120, 10), 100) == Fees(150, 12)
    assert rule.replacement(Fees(140, 10), 100) is None
    assert rule.replacement(Fees(100, 10), 151) is None


def test_gas_leaves_room_for_the_floor_price_of_octets() -> None:
    assert gas_for(bytes(1000), 2) == 90_000 + 40_000 + 80_000
