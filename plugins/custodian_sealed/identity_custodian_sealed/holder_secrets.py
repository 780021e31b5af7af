"""The secrets of holders: derived from the first data key whenever they are used, so that nothing of them is stored (PROTOCOL-2.md §3, §5).

Whoever has that data key can do what the holder can, also after the keys were sealed anew: credentials are bound to what follows from it.
Who loses it loses the secrets with the keys: credentials that are bound to them prove nothing any more and are issued anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from identity_core.crypto import sealing
from identity_core.crypto.bbs import blind, consent
from identity_core.crypto.bbs.blind import IssueRequest
from identity_core.crypto.bbs.openings import HolderSecret
from identity_core.crypto.bbs.suite import Ciphersuite, ciphersuite
from identity_core.crypto.bls12381 import select
from identity_core.crypto.frames import frame
from identity_core.domain.proofs.presentation import HolderConsent
from identity_core.ports.custodian import KeyRefused
from identity_custodian_sealed.held_key import MAX_DID, MAX_NAME, check_texts

_SECRET: Final = b"identity-service custodian holder secret v1"
_BLIND: Final = b"identity-service custodian holder blind v1"
_MATERIAL_OCTETS: Final = 48


@dataclass(frozen=True, slots=True)
class HolderSecrets:
    """``root``, the first data key, has 32 octets; ``random`` is the operating system's random source."""

    root: bytes = field(repr=False)
    random: Callable[[int], bytes]

    def commit(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """See ``HolderCustodian.commit_holder``."""
        check_texts((secret, MAX_DID), (credential, MAX_NAME))
        suite = ciphersuite(select())
        own_blind = self._blind(secret, credential)
        return blind.commit_to(suite, self._secret(suite, secret), own_blind, request, self.random)

    def consent(self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None) -> HolderConsent:
        """See ``HolderCustodian.consent``."""
        if not credentials:
            raise KeyRefused("A consent is about one credential at least.")
        check_texts((secret, MAX_DID), *((credential, MAX_NAME) for credential in credentials))
        suite = ciphersuite(select())
        blinds = [self._blind(secret, credential) for credential in credentials]
        octets, rhos = consent.consent(suite, self._secret(suite, secret), blinds, message, self.random, pseudonym)
        return HolderConsent(octets, rhos)

    def _secret(self, suite: Ciphersuite, name: str) -> HolderSecret:
        return HolderSecret.derived(suite, self._material(_SECRET, name))

    def _blind(self, secret: str, credential: str) -> int:
        return blind.derived_blind(self._material(_BLIND, secret, credential))

    def _material(self, tag: bytes, *names: str) -> bytes:
        info = frame(tag, [name.encode("ascii") for name in names])
        return sealing.derive_key(self.root, info=info, length=_MATERIAL_OCTETS)
