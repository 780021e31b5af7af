"""The lease of the process that calls the chain: one at a time among those that share a database.

The lease runs by the wall clock, so it can be held by two for a moment when clocks differ; the second fence is that every
write below asks for it again, that a nonce stands in one row, and that the contract records nothing twice.
"""

from __future__ import annotations

from identity_core.database import Transaction

LEASE_MICROSECONDS = 3_000_000

_TAKE = """
UPDATE evm_lease SET holder = :holder, until = :until WHERE id = 1 AND (holder = :holder OR until < :now OR until > :most)
"""
_RELEASE = "UPDATE evm_lease SET until = 0 WHERE id = 1 AND holder = :holder"


class LeaseLost(Exception):
    """Another process talks to the chain now; what this one was about to write is undone."""


def take(transaction: Transaction, holder: str, now: int) -> bool:
    """Take or renew the lease. One that would end later than any lease can was made by a clock that was wrong."""
    most = now + 10 * LEASE_MICROSECONDS
    row = {"holder": holder, "until": now + LEASE_MICROSECONDS, "now": now, "most": most}
    return transaction.execute(_TAKE, row).rowcount == 1


def release(transaction: Transaction, holder: str) -> None:
    """Let the next one in at once."""
    transaction.execute(_RELEASE, {"holder": holder})
