"""The tokens that a response of a wallet costs its address."""

from __future__ import annotations

from identity_wallets.presentation_endpoints import PRESENT

from identity_core.api.request import Request


def test_presentation_costs_a_token_for_each_that_fits() -> None:
    assert PRESENT.cost.tokens(Request(body_octets=bytes(10))) == 6
    assert PRESENT.cost.tokens(Request(body_octets=bytes(4_096 + 700 * 20))) >= 6 + 20
    assert PRESENT.waits
