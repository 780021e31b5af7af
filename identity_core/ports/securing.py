"""The socket for securing mechanisms of credentials (VC 2.0 §5.13): one plugin a format, such as ``bbs-2023`` or ``dc+sd-jwt``.

A format only computes: the core resolves the issuer's key, holds private keys, compares times and checks revocation. A format
implements the smallest Protocol that covers its abilities: verify; verify and derive; or verify, derive and issue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from identity_codec.values import value_class

Secured = str | Mapping[str, Any]
"""A secured credential as it travels: a text (SD-JWT) or a JSON object with its proof (data integrity)."""


@value_class
class SecuredHead:
    """The unverified content of a secured credential. ``verification_method`` is the DID URL of the key that is said to
    have signed; it begins with ``issuer``. Times are aware UTC, None where none is said."""

    issuer: str
    verification_method: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@value_class
class KeyBinding:
    """The binding that a verifier demands: a proof of the holder's key, made for ``audience`` and ``nonce`` and fresh at the aware UTC time
    ``now``. ``holder`` is the multikey that signed the presentation around the credential, if there is one: then a credential that is
    bound to that key, or to none, needs no proof of its own. An empty ``audience`` or ``nonce`` matches no proof."""

    audience: str
    nonce: str
    now: datetime
    holder: str | None = None


@value_class
class Disclosed:
    """The claims that a verified credential discloses. ``claims`` is the payload without its proof, ``holder_key`` the
    public JWK of the holder whose key binding was verified; None where none was demanded. ``head`` is that of the
    verified claims. The names in ``claims`` of a JSON-LD format are those of contexts that the format brings, never of
    the credential's own; ``warnings`` state what was replaced."""

    head: SecuredHead
    claims: Mapping[str, Any]
    holder_key: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()


@value_class
class UnsecuredCredential:
    """A credential before it is secured. ``claims`` is the payload in the format's own data model, its issuer and
    validity included.

    ``public_key`` is the multikey (CID 1.0 §2.2.2) of ``verification_method``. ``mandatory`` are JSON pointers (RFC 6901) into the claims:
    a holder can hide everything else. ``holder_key`` is the public JWK that the credential is bound to, ``created`` an aware UTC time.
    """

    claims: Mapping[str, Any]
    verification_method: str
    public_key: str
    created: datetime
    mandatory: Sequence[str] = ()
    holder_key: Mapping[str, Any] | None = None


@value_class
class CredentialDraft:
    """The input of the issuer's signature: ``Custodian.sign_bbs(header, messages)`` for a BBS key; for every other type
    the header is empty and the one message goes to ``Custodian.sign``. ``state`` is the format's own, for ``secure``;
    it holds no key."""

    header: bytes
    messages: Sequence[bytes]
    state: Any


@runtime_checkable
class SecuringFormat(Protocol):
    """One format. No method keeps anything of a call. Blocking code goes to threads (``in_threads``).

    What comes is hostile: each method ends in bounded time and memory for every input, without asking the network.
    """

    @property
    def name(self) -> str:
        """The format's registered name: the cryptosuite of a data integrity proof, or a media type without ``application/``."""

    async def read(self, secured: Secured) -> SecuredHead:
        """Return the unverified content of ``secured``. Nothing is verified; raises ``InvalidCredential`` for what is
        not of this format."""

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        """Accepts what the holder of the multikey ``public_key`` signed, or what was derived from it, with the proof of the holder's key
        that ``binding`` demands. The period of validity is told in the head and not compared.

        Raises ``InvalidCredential`` for what is not of this format, ``ProofInvalid`` for what does not verify, also where a binding is
        demanded of a format that has none. ``details.reason`` quotes no claim.
        """


@runtime_checkable
class DerivingFormat(SecuringFormat, Protocol):
    """A format whose holders disclose a part."""

    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        """Return a credential that discloses the mandatory claims and those at the JSON pointers, and verifies. It is
        without a proof of the holder's key, which only the holder can add.

        Raises ``InvalidCredential`` for what is not of this format as issued and for a pointer to nothing, ``ProofInvalid`` where
        ``secured`` was not signed by ``public_key``.
        """


@runtime_checkable
class IssuingFormat(SecuringFormat, Protocol):
    """A format that secures credentials, with keys that a custodian holds."""

    @property
    def key_type(self) -> str:
        """The type of the issuer's key, one of ``Custodian.capabilities``."""

    async def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        """Return the input of the issuer's signature. Raises ``InvalidCredential`` for claims that the format cannot
        secure."""

    async def secure(self, draft: CredentialDraft, signature: bytes) -> Secured:
        """The secured credential. The signature is not checked: it is the custodian's."""
