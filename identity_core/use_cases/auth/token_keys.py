"""The keys that sign access tokens: Ed25519 keys ``token-1``, ``token-2``, … that never leave the custodian.

The one in use has a number (setting ``token.key_number``). The next one is published before it signs, so that readers who
keep our JWK Set know it already, and the one before still verifies, so that raising the number by one logs nobody out;
raising it by two does, at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from identity_core.codec import multikey
from identity_core.crypto.jws import VerificationKey
from identity_core.ports.custodian import Custodian

SEAL_KEY: Final = "token-seal"
_PURPOSE: Final = "token"


@dataclass(frozen=True, slots=True)
class TokenKeys:
    """``name`` and ``signing`` are the key in use; ``known`` are all that verify, by ``kid``; ``seal`` is the 32-byte secret under
    which tokens name their API keys."""

    name: str
    signing: VerificationKey
    known: Mapping[str, VerificationKey]
    seal: bytes = field(repr=False)

    @classmethod
    async def open(cls, custodian: Custodian, number: int) -> TokenKeys:
        """Has the custodian make what is missing. ``number`` is at least 1."""
        keys: dict[int, VerificationKey] = {}
        # The one in use comes first: some readers of a JWK Set take the first key that they can use.
        for each in (number, number + 1, *((number - 1,) if number > 1 else ())):
            public = await custodian.generate(_name(each), multikey.ED25519, did="-", purpose=_PURPOSE)
            keys[each] = VerificationKey.of(multikey.decode_public(public)[1])
        await custodian.generate(SEAL_KEY, multikey.ED25519, did="-", purpose=_PURPOSE)
        # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
        signature = await custodian.sign(SEAL_KEY, b"identity: API keys in access tokens, v1")
        known = {key.kid: key for key in keys.values()}
        return cls(_name(number), keys[number], known, hashlib.sha256(signature).digest())


def _name(number: int) -> str:
    return f"token-{number}"
