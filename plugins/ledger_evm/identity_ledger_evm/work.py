"""The check for open work, in one statement, because it runs while the worker rests."""

from __future__ import annotations

from identity_core.database import Transaction

_WORK = """
SELECT EXISTS (SELECT 1 FROM evm_appends WHERE state = 'waiting')
OR EXISTS (SELECT 1 FROM evm_anchors WHERE state = 'waiting')
OR EXISTS (SELECT 1 FROM evm_transactions WHERE state IN ('submitted', 'mined'))
"""


def has_work(transaction: Transaction) -> bool:
    """Return whether something waits or is open."""
    return bool(transaction.execute(_WORK).fetchone()[0])
