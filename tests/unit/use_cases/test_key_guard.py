"""The start of a service without the extension that follows the log of the service's own DID."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.ports.custodian import KeyNotHeld
from identity_core.settings import StartError
from identity_core.use_cases.dids.log_keys import SERVICE_KEY
from identity_core.use_cases.transparency import RollbackGuard


def signer(*held: str) -> Any:
    async def public_key(name: str) -> str:
        if name not in held:
            raise KeyNotHeld
        return "z6Mk"

    return SimpleNamespace(custodian=SimpleNamespace(public_key=public_key))


def test_log_is_not_followed_before_the_first_rotation() -> None:
    assert asyncio.run(RollbackGuard().follow(signer("log", "log/2"), None, None)) is None


def test_a_start_is_refused_after_a_rotation() -> None:
    """Entries of retired keys would count again, and the signer would take a key of before."""
    with pytest.raises(StartError, match="enable the extension transparency"):
        asyncio.run(RollbackGuard().follow(signer("log", SERVICE_KEY), None, None))
