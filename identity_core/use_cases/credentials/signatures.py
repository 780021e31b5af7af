"""Checks of issuers' signatures beside everything else that the process does.

A check takes milliseconds on the curve, up to some dozens for the widest schema, and anybody may ask for one. So it runs in a
thread, few at once, and when too many wait the next is turned away instead of making all of them late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from identity_core.domain.credential_signature import check_signature
from identity_core.domain.errors import JsonValue, Overloaded
from identity_core.domain.schema import Schema

AT_ONCE: Final = 2
WAITING: Final = 64


@dataclass(slots=True)
class SignatureChecks:
    """One for a process, made inside its event loop."""

    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _waiting: int = 0

    async def __call__(
        self, public_key: bytes, signature: bytes, schema: Schema, canonical: Mapping[str, JsonValue]
    ) -> None:
        """See ``check_signature``. Raises ``InvalidCredential``, ``Overloaded``."""
        if self._waiting >= WAITING:
            raise Overloaded(details={"retryAfter": 1})
        self._waiting += 1
        try:
            async with self._turns:
                await asyncio.to_thread(check_signature, public_key, signature, schema, canonical)
        finally:
            self._waiting -= 1
