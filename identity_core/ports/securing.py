"""The socket for securing mechanisms of credentials (VC 2.0 §5.13): one plugin a format, such as ``bbs-2023`` or ``dc+sd-jwt``.

A format only computes: the core resolves the issuer's key, holds private keys, compares times and checks revocation. A format
implements the smallest Protocol that covers its abilities: verify; verify and derive; or verify, derive and issue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

Secured = str | Mapping[str, Any]
"""The serialised form of a secured credential: a text (SD-JWT) or a JSON object with its proof (data integrity)."""


class SecuredHead(Struct, frozen=True):
    """The unverified content of a secured credential. ``verification_method`` is the DID URL of the key that claims to
    have signed; it begins with ``issuer``. Times are aware UTC, None if the credential has none."""

    issuer: str
    verification_method: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None


class KeyBinding(Struct, frozen=True):
    """The binding that a verifier requires: a proof of the holder's key, made for ``audience`` and ``nonce`` and fresh at the aware UTC
    time ``now``. ``holder`` is the multikey that signed the presentation around the credential, if there is one. A credential that is
    bound to that key, or to none, then needs no separate proof. An empty ``audience`` or ``nonce`` matches no proof."""

    audience: str
    nonce: str
    now: datetime
    holder: str | None = None


class Disclosed(Struct, frozen=True):
    """The claims that a verified credential discloses. ``claims`` is the payload without its proof. ``holder_key`` is the public JWK of
    the holder whose key binding was verified; None if none was required. ``head`` is that of the verified claims. The names in
    ``claims`` of a JSON-LD format come from contexts that the format contains, never from the credential's own; ``warnings`` state
    what was replaced."""

    head: SecuredHead
    claims: Mapping[str, Any]
    holder_key: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()


class UnsecuredCredential(Struct, frozen=True):
    """A credential before it is secured. ``claims`` is the payload in the format's own data model, with issuer and validity.

    ``public_key`` is the multikey (CID 1.0 §2.2.2) of ``verification_method``. ``mandatory`` are JSON pointers (RFC 6901) into the claims:
    a holder can hide everything else. ``holder_key`` is the public JWK that the credential is bound to, ``created`` an aware UTC time.
    """

    claims: Mapping[str, Any]
    verification_method: str
    public_key: str
    created: datetime
    mandatory: Sequence[str] = ()
    holder_key: Mapping[str, Any] | None = None


class CredentialDraft(Struct, frozen=True):
    """The input of the issuer's signature: ``Custodian.sign_bbs(header, messages)`` for a BBS key. For every other type
    the header is empty and the one message is the argument of ``Custodian.sign``. ``state`` is private to the format, for
    ``secure``; it contains no key."""

    header: bytes
    messages: Sequence[bytes]
    state: Any


@runtime_checkable
class SecuringFormat(Protocol):
    """A format. No method stores anything between calls. Blocking code must run in threads (``in_threads``).

    Input is hostile: each method must end in bounded time and memory for every input, without access to the network.
    """

    @property
    def name(self) -> str:
        """The format's registered name: the cryptosuite of a data integrity proof, or a media type without ``application/``."""

    async def read(self, secured: Secured) -> SecuredHead:
        """Return the content of ``secured`` without verification. Raises ``InvalidCredential``: when it is not of this format."""

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        """Verify that the multikey ``public_key`` signed the credential, or the one from which it was derived. Verify also the proof of
        the holder's key that ``binding`` requires. The head contains the period of validity, which is not compared.

        Raises ``InvalidCredential``: when it is not of this format. Raises ``ProofInvalid``: when it does not verify, or a binding is
        required and the format has none. ``details.reason`` quotes no claim.
        """


@runtime_checkable
class DerivingFormat(SecuringFormat, Protocol):
    """A format whose holders can disclose a part of a credential."""

    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        """Return a credential that verifies and discloses the mandatory claims and those at the JSON pointers. It has no proof of the
        holder's key, which only the holder can add.

        Raises ``InvalidCredential``: when ``secured`` is not an issued credential of this format, or a pointer has no target. Raises
        ``ProofInvalid``: when ``public_key`` did not sign ``secured``.
        """


@runtime_checkable
class IssuingFormat(SecuringFormat, Protocol):
    """A format that secures credentials, with keys that a custodian holds."""

    @property
    def key_type(self) -> str:
        """The type of the issuer's key, one of ``Custodian.capabilities``."""

    async def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        """Return the input of the issuer's signature. Raises ``InvalidCredential``: when the format cannot secure the claims."""

    async def secure(self, draft: CredentialDraft, signature: bytes) -> Secured:
        """Return the secured credential. The signature comes from the custodian and is not checked."""
