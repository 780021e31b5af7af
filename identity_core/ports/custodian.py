"""The socket for private keys that the service holds: issuers' keys, its own log and token keys.

A private key goes in or is made inside; it never comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Custodian(Protocol):
    """Holds keys under names. Names are at most 200 printable ASCII characters.

    Raises ``KeyNotHeld`` (``domain.custody``) for an unknown name, ``PluginUnavailable`` when it is sealed or away.
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do, of ``Ed25519VerificationKey2020``, ``X25519KeyAgreementKey2020``, ``Bls12381G2Key2020`` (key types that it
        generates and imports) and ``sign_bbs``."""
        ...

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        """Makes a key and returns its public multikey. A name that is taken returns the existing public key when type, DID
        and purpose are the same, else raises ``KeyNameTaken``."""
        ...

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        """Takes the raw 32-byte secret; returns the public multikey. Durable on return."""
        ...

    async def public_key(self, name: str) -> str: ...

    async def sign(self, name: str, message: bytes) -> bytes:
        """The 64-byte Ed25519 signature of ``message``."""
        ...

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        """The 80-byte BBS signature (BLS12-381-SHA-256). Octet messages are mapped as the draft says, integers are
        scalars as they are."""
        ...

    async def destroy(self, name: str) -> None:
        """Forgets the key for good; an unknown name is no error."""
        ...
