"""The fees of a transaction per gas (EIP-1559), and its gas limit."""

from __future__ import annotations

from msgspec import Struct

GWEI = 10**9

# What nodes ask of a replacement is a tenth more; an eighth is safely above it.
_BUMP_NUMERATOR, _BUMP_DENOMINATOR = 9, 8


class Fees(Struct, frozen=True):
    """``most`` per gas in all, of which ``tip`` at most goes to the maker of the block; wei."""

    most: int
    tip: int


class FeeRule(Struct, frozen=True):
    """``cap`` is the most that may ever be offered, None for no limit."""

    tip: int
    cap: int | None

    def first(self, base_fee: int) -> Fees | None:
        """Twice the base fee of now plus the tip, which outlives five full blocks; None when the cap forbids even the base
        fee of now."""
        most = self._capped(2 * base_fee + self.tip)
        return Fees(most, min(self.tip, most)) if most >= base_fee else None

    def replacement(self, last: Fees, base_fee: int) -> Fees | None:
        """At least an eighth above ``last`` in both parts, as nodes demand; None when the cap leaves no room for that."""
        tip, least = max(self.tip, _bumped(last.tip)), _bumped(last.most)
        most = self._capped(max(2 * base_fee + tip, least))
        return Fees(most, tip) if most >= max(base_fee, least, tip) else None

    def _capped(self, wei: int) -> int:
        return wei if self.cap is None else min(wei, self.cap)


def _bumped(wei: int) -> int:
    return -(-wei * _BUMP_NUMERATOR // _BUMP_DENOMINATOR)


def gas_for(data: bytes, items: int) -> int:
    """Return an upper bound: what is not used is not paid. Bytes count as the floor price of EIP-7623 has them."""
    return 90_000 + 40 * len(data) + 40_000 * items
