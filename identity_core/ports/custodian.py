"""The socket for private keys that the service holds: issuers' keys, its own log and token keys.

A private key goes in or is made inside; it never comes out. A custodian may keep the secrets of holders too.

Refusals of the custodian port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from identity_bbs.blind import IssueRequest
from identity_bbs.holders import HolderConsent, NameRefused
from identity_codec.values import value_class
from identity_core.errors import IdentityError


class KeyNotHeld(IdentityError):
    """The custodian holds no key under this name."""

    message = "The custodian holds no such key."


class KeyNameTaken(IdentityError):
    """Another key lives under this name."""

    message = "The custodian holds another key under this name."


class KeyRefused(IdentityError):
    """The custodian does not hold keys of this type, or the secret or the name is not one that it can take."""

    message = "The custodian does not take this key."


@contextlib.contextmanager
def checked_names() -> Iterator[None]:
    """Raise ``KeyRefused`` for the names that holders' secrets do not follow from."""
    try:
        yield
    except NameRefused as refused:
        raise KeyRefused(str(refused)) from None


@runtime_checkable
class Custodian(Protocol):
    """Holds keys under names. Names, DIDs and purposes are printable ASCII; a name has at most 200 characters, a DID
    512, a purpose 64.

    Raises ``KeyNotHeld`` for an unknown name, ``KeyRefused`` for what it cannot take or do,
    ``PluginUnavailable`` when it is sealed or away.
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities of the custodian: of ``Ed25519VerificationKey2020``, ``X25519KeyAgreementKey2020``,
        ``Bls12381G2Key2020``, ``EcdsaSecp256r1VerificationKey2019`` (key types that it generates and imports) and
        ``sign_bbs``."""

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        """Makes a key and returns its public multikey; durable on return. A name that is taken returns the existing
        public key when type, DID and purpose are the same, else raises ``KeyNameTaken``; of many callers at once all
        get one key."""

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        """Takes the raw 32-byte secret (BLS: big-endian); returns the public multikey. Durable on return.

        The same key again under the same name, type, DID and purpose is no error; anything else there is
        ``KeyNameTaken``. Raises ``KeyRefused`` for a secret that is no key of its type.
        """

    async def public_key(self, name: str) -> str:
        """The public multikey."""

    async def sign(self, name: str, message: bytes) -> bytes:
        """The 64-byte signature of ``message``: Ed25519, or for a key on P-256 ECDSA with SHA-256 as ``r || s`` (RFC 7518 §3.4). Raises
        ``KeyRefused`` for a key of another type."""

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        """The 80-byte BBS signature (BLS12-381-SHA-256). Byte messages are mapped as the draft says, integers are
        scalars as they are. Raises ``KeyRefused`` for a key of another type, for messages that the suite does not
        take, and for a header that begins with ``identity_client.possession.POSSESSION_TAG``: anyone who could have one signed would
        list the key as his own."""

    async def destroy(self, name: str) -> None:
        """Forgets the key for good, durably; an unknown name is no error. The name may be used again."""


@runtime_checkable
class KeepingCustodian(Custodian, Protocol):
    """A custodian that keeps holders' secrets as well (PROTOCOL-2.md §3, §5).

    A holder's secret and the blind of each credential follow from the custodian's own key, the secret's name and the credential's id:
    nothing is stored for them, none is made ahead, and another name is another secret. They never come out. A secret's name has at most 544
    characters (a DID and a number), an id as many as the name of a key.
    """

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """The 192-byte commitment to the secret and to the blind of the credential. Raises ``KeyRefused`` for names that it cannot
        take."""

    async def consent(
        self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None
    ) -> HolderConsent:
        """The holder's consent to ``message`` for these credentials of the secret, with a pseudonym in that context unless it is None.
        Raises ``KeyRefused`` for names that it cannot take and for no credential, and ``KeyNotHeld`` where what the secrets follow from is
        not there: none is made for a consent."""


@runtime_checkable
class RenewingCustodian(KeepingCustodian, Protocol):
    """A custodian that can replace its own key, from which holders' secrets are derived, if it may be compromised. Existing secrets
    do not change; secrets of new names are derived from the new key."""

    async def holders_root(self) -> int:
        """The number of the key that new secrets follow from, from 1. The name of such a secret ends in ``@`` and the number from 2 on; a
        name without one is of the first key. Raises ``PluginUnavailable``."""


@runtime_checkable
class HolderCustodian(KeepingCustodian, Protocol):
    """One that also signs credentials that are bound to a holder's secret, its own or another keeper's."""

    async def sign_bbs_blind(
        self, name: str, messages: Sequence[bytes | int], commitment: bytes, request: IssueRequest
    ) -> bytes:
        """The 80-byte signature under the key ``name`` on the commitment and the messages of the slots from 2 on, as for ``sign_bbs``.
        Raises ``KeyRefused`` also for a commitment that was not made for this request, and for the header of another kind of credential."""


@value_class
class Resealed:
    """``keys`` secrets are sealed under the data key of this ``generation``, from 1. ``left_to_do`` says what the
    operator has to do before the files of the database have nothing more that was sealed under the one before; empty where that is done."""

    generation: int
    keys: int
    has_new_master_key: bool
    left_to_do: str


@runtime_checkable
class ResealingCustodian(Custodian, Protocol):
    """A custodian that can seal everything that it holds under another key of its own, beside running processes."""

    def reseal_now(self, *, compromised: bool) -> Resealed:
        """Seals every secret anew, all or none, durably; no key changes, and no process has to be started again. ``compromised``: under
        another master key too, so that the one before opens nothing of what is stored from then on. Blocks; for commands. Raises
        ``KeyRefused`` with what the operator has to do first."""


@runtime_checkable
class AttendedCustodian(ResealingCustodian, Protocol):
    """A custodian that seals nothing anew while a process that serves says that it could not open it."""

    async def attend(self) -> float:
        """Tells that this process serves and whether it opens what is about to be sealed anew; how many seconds later to call again.
        Called from the start on, one call at a time; ``close`` ends it. Raises ``PluginUnavailable``."""
