"""A custodian under examination: what the kit gives it to hold, and how it reads what comes back."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.ports.custodian import Custodian

T = TypeVar("T")

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
PURPOSE = "assertionMethod"
KEY_TYPES = (multikey.ED25519, multikey.X25519, multikey.BLS12381G2)
SECRET = bytes(range(1, 33))

REFUSED_NAMES = ("", "n" * 201, "a\0b", "a\nb", "é", "e\u0301", "\U0001f980", "a\x7f")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Runs one scenario to its end."""
    return asyncio.run(scenario)


async def verified(custodian: Custodian, name: str, message: bytes) -> None:
    """Signs and verifies with the public key that the custodian gives."""
    _, raw = multikey.decode_public(await custodian.public_key(name))
    ed25519.verify(raw, message, await custodian.sign(name, message))


async def closed(custodian: Custodian) -> None:
    """Closes it, if it can be closed."""
    close = getattr(custodian, "close", None)
    if close is not None:
        result = close()
        if inspect.isawaitable(result):
            await result


class ExaminedCustodian:
    """The custodian that every group of promises is about."""

    @pytest.fixture
    def custodian(self) -> Custodian:
        """The custodian to examine, without keys."""
        raise NotImplementedError("give the fixture 'custodian'")

    @pytest.fixture(params=KEY_TYPES)
    def key_type(self, request: pytest.FixtureRequest, custodian: Custodian) -> str:
        """Each key type that the custodian declares."""
        kind: str = request.param
        if kind not in custodian.capabilities:
            pytest.skip(f"the custodian does not declare {kind}")
        return kind
