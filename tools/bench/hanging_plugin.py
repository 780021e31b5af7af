"""The fault plugin of the features, whose calls hang as a plugin's do that waits for an answer: without looking at anything meanwhile."""

from __future__ import annotations

import asyncio

from features.faults import plugin as stock
from features.faults.plugin import (
    identity_provide_custodian,
    identity_provide_did_method,
    identity_provide_key_store,
    identity_provide_ledger_backend,
)
from features.faults.words import faults

__all__ = [
    "identity_provide_custodian",
    "identity_provide_did_method",
    "identity_provide_key_store",
    "identity_provide_ledger_backend",
]


async def strike(kind: str) -> None:
    if f"{kind}:hang" in faults():
        await asyncio.sleep(3600)


stock.strike = strike
