"""Issuers' keys of the kit, which sign the drafts of a format as a custodian does."""

from __future__ import annotations

from identity_bbs import interface
from identity_bbs.bls12381 import keys
from identity_bbs.bls12381.choice import select
from identity_bbs.suite import ciphersuite
from identity_codec import ed25519, multikey, p256
from identity_core.ports.securing import CredentialDraft


class KitIssuer:
    """An issuer whose key follows from 32 bytes. ``key_type`` is one of ``Ed25519VerificationKey2020``,
    ``Bls12381G2Key2020`` and ``EcdsaSecp256r1VerificationKey2019``."""

    def __init__(self, key_type: str, seed: bytes) -> None:
        self._type = key_type
        self._secret = keys.generate_secret(seed) if key_type == multikey.BLS12381G2 else seed
        if key_type == multikey.BLS12381G2:
            self._public = keys.public_key(self._secret)
        elif key_type == multikey.ED25519:
            self._public = ed25519.generate(seed).public
        elif key_type == multikey.P256:
            self._secret = p256.generate_secret(seed)
            self._public = p256.public_key(self._secret)
        else:
            raise ValueError(f"the kit has no keys of the type {key_type}")

    @property
    def public_key(self) -> str:
        """Return its multikey."""
        return multikey.encode_public(self._type, self._public)

    async def sign(self, draft: CredentialDraft) -> bytes:
        """Return the signature of the draft."""
        if self._type == multikey.BLS12381G2:
            return interface.sign(ciphersuite(select()), self._secret, self._public, draft.header, draft.messages)
        (message,) = draft.messages
        if self._type == multikey.P256:
            return p256.sign(self._secret, message)
        return ed25519.sign(self._secret, message)
