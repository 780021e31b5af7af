"""The secrets of holders as a custodian keeps them: derived whenever they are used, so that none is stored (PROTOCOL-2.md §3, §5).

Whoever can have them derived can do what the holder can. Who loses what they follow from loses them all: credentials that are bound to them
prove nothing any more and are issued anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final

from identity_bbs import blind, consent
from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381 import select
from identity_bbs.frames import frame
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import Ciphersuite, ciphersuite
from identity_codec.values import value_class
from identity_core.domain.proofs.presentation import HolderConsent
from identity_core.errors import IdentityError

_SECRET: Final = b"identity-service custodian holder secret v1"
_BLIND: Final = b"identity-service custodian holder blind v1"
# A DID and the number of a generation.
_MAX_SECRET: Final = 544
_MAX_CREDENTIAL: Final = 200


class KeyNotHeld(IdentityError):
    """The custodian holds no key under this name."""

    message = "The custodian holds no such key."


class KeyNameTaken(IdentityError):
    """Another key lives under this name."""

    message = "The custodian holds another key under this name."


class KeyRefused(IdentityError):
    """The custodian does not hold keys of this type, or the secret or the name is not one that it can take."""

    message = "The custodian does not take this key."


@value_class
class HolderSecrets:
    """``derive`` gives at least 32 octets of secret entropy that follow from the custodian's own key and the octets it is given, each
    time the same; ``random`` is the operating system's random source."""

    derive: Callable[[bytes], bytes] = field(repr=False)
    random: Callable[[int], bytes]

    def commit(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """See ``KeepingCustodian.commit_holder``."""
        _check((secret, _MAX_SECRET), (credential, _MAX_CREDENTIAL))
        suite = ciphersuite(select())
        own_blind = self._blind(secret, credential)
        return blind.commit_to(suite, self._secret(suite, secret), own_blind, request, self.random)

    def consent(self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None) -> HolderConsent:
        """See ``KeepingCustodian.consent``."""
        if not credentials:
            raise KeyRefused("A consent is about one credential at least.")
        _check((secret, _MAX_SECRET), *((credential, _MAX_CREDENTIAL) for credential in credentials))
        suite = ciphersuite(select())
        blinds = [self._blind(secret, credential) for credential in credentials]
        octets, rhos = consent.consent(suite, self._secret(suite, secret), blinds, message, self.random, pseudonym)
        return HolderConsent(octets, rhos)

    def _secret(self, suite: Ciphersuite, name: str) -> HolderSecret:
        return HolderSecret.derived(suite, self._material(_SECRET, name))

    def _blind(self, secret: str, credential: str) -> int:
        return blind.derived_blind(self._material(_BLIND, secret, credential))

    def _material(self, tag: bytes, *names: str) -> bytes:
        return self.derive(frame(tag, [name.encode("ascii") for name in names]))


def _check(*texts: tuple[str, int]) -> None:
    for text, most in texts:
        if not 1 <= len(text) <= most or not (text.isascii() and text.isprintable()):
            raise KeyRefused("The name of a secret or of a credential is printable ASCII and not empty.")
