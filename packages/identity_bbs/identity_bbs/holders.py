"""Secrets of holders, derived at each use, so that none is stored (PROTOCOL-2.md §3, §5).

A party that can derive them can act as the holder. If the key that they follow from is lost, all are lost: credentials that are
bound to them prove nothing any more and are issued anew.

The name of a secret is the holder's DID, and from the second generation on its number. Another name is another secret, and no DID has a
``#`` or an ``@``. A holder rotates a secret that may be exposed: what is issued from then on is bound to the next generation, and what
was issued stays bound to its own, because nothing carries a signature over. If the keeper's own key, which all of them follow from,
was replaced because it may be exposed, the number of that key stands behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from identity_bbs import blind, consent
from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381 import select
from identity_bbs.frames import frame
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import Ciphersuite, ciphersuite

FIRST: Final = 1
_SECRET: Final = b"identity-service custodian holder secret v1"
_BLIND: Final = b"identity-service custodian holder blind v1"
# A DID and the number of a generation.
_MAX_SECRET: Final = 544
_MAX_CREDENTIAL: Final = 200
_DIGITS: Final = 6


class NameRefused(ValueError):
    """The name of a secret or of a credential is not one that secrets follow from."""


@dataclass(frozen=True, slots=True)
class HolderConsent:
    """The output of the keeper for the prover: the consent's bytes, and ρ for each credential, which is no part of a
    proof."""

    encoded: bytes = field(repr=False)
    rhos: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class HolderSecrets:
    """``derive`` gives at least 32 bytes of secret entropy that follow from the keeper's own key and the bytes it is given, each
    time the same; ``random`` is the operating system's random source."""

    derive: Callable[[bytes], bytes] = field(repr=False)
    random: Callable[[int], bytes]

    def commit(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """Return the 192-byte commitment to the secret and to the blind of the credential. Raises ``NameRefused``."""
        _check((secret, _MAX_SECRET), (credential, _MAX_CREDENTIAL))
        suite = ciphersuite(select())
        own_blind = self._blind(secret, credential)
        return blind.commit_to(suite, self._secret(suite, secret), own_blind, request, self.random)

    def consent(self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None) -> HolderConsent:
        """Return the holder's consent to ``message`` for these credentials of the secret. Raises ``NameRefused``."""
        if not credentials:
            raise NameRefused("A consent is about one credential at least.")
        _check((secret, _MAX_SECRET), *((credential, _MAX_CREDENTIAL) for credential in credentials))
        suite = ciphersuite(select())
        blinds = [self._blind(secret, credential) for credential in credentials]
        return HolderConsent(
            *consent.consent(suite, self._secret(suite, secret), blinds, message, self.random, pseudonym)
        )

    def _secret(self, suite: Ciphersuite, name: str) -> HolderSecret:
        return HolderSecret.derived(suite, self._material(_SECRET, name))

    def _blind(self, secret: str, credential: str) -> int:
        return blind.derived_blind(self._material(_BLIND, secret, credential))

    def _material(self, tag: bytes, *names: str) -> bytes:
        return self.derive(frame(tag, [name.encode("ascii") for name in names]))


def _check(*texts: tuple[str, int]) -> None:
    for text, most in texts:
        if not 1 <= len(text) <= most or not (text.isascii() and text.isprintable()):
            raise NameRefused("The name of a secret or of a credential is printable ASCII and not empty.")


def name_of(holder: str, generation: int, root: int = FIRST) -> str:
    """Return the name of the holder's secret of a generation that follows from the keeper's key ``root``, both from 1."""
    counted = holder if generation == FIRST else f"{holder}#{generation}"
    return counted if root == FIRST else f"{counted}@{root}"


def generation_of(name: str) -> int:
    """Return the generation that a name is of."""
    return int(name.partition("@")[0].partition("#")[2] or FIRST)


def root_of(name: str) -> int:
    """Return the number of the keeper's key from which the secret with this name is derived; 1 if the name has no number.
    Raises ``NameRefused``: for a malformed number.
    """
    number = name.partition("@")[2] or str(FIRST)
    if len(number) > _DIGITS or not (number.isascii() and number.isdecimal()) or number.startswith("0"):
        raise NameRefused("The name of a secret ends in no number of a key.")
    return int(number)
