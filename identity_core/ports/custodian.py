"""The socket for private keys that the service holds: issuers' keys, its own log and token keys.

A private key is imported into the custodian or generated there; it is never returned. A custodian may keep the secrets of holders too.

The module also defines the errors of the port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from identity_bbs.blind import IssueRequest
from identity_bbs.holders import HolderConsent, NameRefused
from identity_core.errors import IdentityError


class KeyNotHeld(IdentityError):
    """The custodian holds no key under this name."""

    message = "The custodian holds no such key."


class KeyNameTaken(IdentityError):
    """The custodian holds another key under this name."""

    message = "The custodian holds another key under this name."


class KeyRefused(IdentityError):
    """The custodian does not support this key type, or the secret or the name is invalid."""

    message = "The custodian does not take this key."


@contextlib.contextmanager
def checked_names() -> Iterator[None]:
    """Raise ``KeyRefused`` for a name from which holders' secrets cannot be derived."""
    try:
        yield
    except NameRefused as refused:
        raise KeyRefused(str(refused)) from None


@runtime_checkable
class Custodian(Protocol):
    """A store of named keys. Names, DIDs and purposes are printable ASCII; a name has at most 200 characters, a DID
    512, a purpose 64.

    Raises ``KeyNotHeld``: when the name is unknown. Raises ``KeyRefused``: when the key, the name or the operation is not supported.
    Raises ``PluginUnavailable``: when the custodian is sealed or unreachable.
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the custodian, a subset of ``Ed25519VerificationKey2020``, ``X25519KeyAgreementKey2020``,
        ``Bls12381G2Key2020``, ``EcdsaSecp256r1VerificationKey2019`` (key types that it generates and imports) and
        ``sign_bbs``."""

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        """Generate a key and return its public multikey; durable on return. Parallel callers all get the same key.

        If the name is taken by a key of the same type, DID and purpose, return the existing public key. Raises ``KeyNameTaken``: when
        one of them differs."""

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        """Import the raw 32-byte secret (BLS: big-endian) and return the public multikey. Durable on return.

        A repeated import of the same key under the same name, type, DID and purpose succeeds. Raises ``KeyNameTaken``: when the name
        has another key. Raises ``KeyRefused``: when the secret is not a valid key of its type.
        """

    async def public_key(self, name: str) -> str:
        """Return the public multikey."""

    async def sign(self, name: str, message: bytes) -> bytes:
        """Return the 64-byte signature of ``message``: Ed25519, or for a P-256 key ECDSA with SHA-256 as ``r || s`` (RFC 7518 §3.4).
        Raises ``KeyRefused``: when the key is of another type."""

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        """Return the 80-byte BBS signature (BLS12-381-SHA-256). Byte messages are mapped to scalars as the draft specifies; integers
        are scalars already.

        Raises ``KeyRefused``: when the key is of another type, or the suite does not support the messages. Raises it also for a header
        that begins with ``identity_client.possession.POSSESSION_TAG``: its signature would let a client list the key as its own."""

    async def destroy(self, name: str) -> None:
        """Delete the key permanently and durably; an unknown name is no error. The name may be used again."""


@runtime_checkable
class KeepingCustodian(Custodian, Protocol):
    """A custodian that keeps holders' secrets as well (PROTOCOL-2.md §3, §5).

    A holder's secret and the blind of each credential are derived from the custodian's own key, the secret's name and the credential's
    id. Nothing is stored for them, and each name has its own secret. They are never returned. A secret's name has at most 544 characters
    (a DID and a number), an id as many as the name of a key.
    """

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """Return the 192-byte commitment to the secret and to the blind of the credential. Raises ``KeyRefused``: when a name is
        invalid."""

    async def consent(
        self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None
    ) -> HolderConsent:
        """Return the holder's consent to ``message`` for these credentials of the secret. ``pseudonym`` is the context of a pseudonym;
        None for none.

        Raises ``KeyRefused``: when a name is invalid or there is no credential. Raises ``KeyNotHeld``: when the key from which the
        secrets are derived is missing; a consent does not create it."""


@runtime_checkable
class RenewingCustodian(KeepingCustodian, Protocol):
    """A custodian that can replace its own key, from which holders' secrets are derived, if it may be compromised. Existing secrets
    do not change; secrets of new names are derived from the new key."""

    async def holders_root(self) -> int:
        """Return the number of the key from which new secrets are derived, from 1. The name of such a secret ends in ``@`` and the number,
        if the number is at least 2. A name without a number belongs to the first key. Raises ``PluginUnavailable``."""


@runtime_checkable
class HolderCustodian(KeepingCustodian, Protocol):
    """A custodian that also signs credentials that are bound to a holder's secret, which it or another custodian keeps."""

    async def sign_bbs_blind(
        self, name: str, messages: Sequence[bytes | int], commitment: bytes, request: IssueRequest
    ) -> bytes:
        """Return the 80-byte signature under the key ``name`` on the commitment and the messages of the slots from 2 on, as for
        ``sign_bbs``. Raises ``KeyRefused`` also: when the commitment was not made for this request, or the header is of another kind of
        credential."""


class Resealed(Struct, frozen=True):
    """The result of resealing: ``keys`` secrets are sealed under the data key of this ``generation``, from 1. ``left_to_do`` describes
    the operator's remaining work, until the files of the database contain nothing sealed under the key before; empty if none remains."""

    generation: int
    keys: int
    has_new_master_key: bool
    left_to_do: str


@runtime_checkable
class ResealingCustodian(Custodian, Protocol):
    """A custodian that can seal all of its secrets under a new key of its own while processes run."""

    def reseal_now(self, *, compromised: bool) -> Resealed:
        """Seal every secret anew, all or none, durably. No key changes, and no process needs a restart. The call blocks; it is for
        commands.

        ``compromised``: use a new master key too, so that the old one opens nothing that is stored from then on. Raises ``KeyRefused``:
        when the operator has to do something first; the message states what."""


@runtime_checkable
class AttendedCustodian(ResealingCustodian, Protocol):
    """A custodian that does not reseal while a serving process reports that it could not open the result."""

    async def attend(self) -> float:
        """Report that this process serves, and whether it can open the secrets after resealing. Return the seconds until the next call.
        It is called from startup on, one call at a time; ``close`` ends it. Raises ``PluginUnavailable``."""
