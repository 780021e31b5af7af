"""A key on the token: a private and a public object of one label and one id.

``CKA_LABEL`` is the key's name, so that the token's own tools show it. ``CKA_ID`` is a hash of everything that the key is
for: DIDs are longer than what many tokens take there, and the port only asks whether type, DID and purpose are the same.
Both objects are private ones: without the PIN no one learns the names. The private object is made last and goes first, so
that a key whose private object is there has all of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.ports.custodian import KeyRefused

SECRET_BYTES: Final = 32

# PKCS#11 3.0 §2.3.10: CKA_EC_PARAMS of an Edwards curve is its name or its object identifier (RFC 8410), in DER.
CURVES: Final = {"name": b"\x13\x0cedwards25519", "oid": b"\x06\x03\x2b\x65\x70"}
_OCTET_STRING: Final = b"\x04\x20"
_PROBE: Final = b"identity-service: is this the private key of this public key?"

_OURS: Final[Mapping[Attribute, Any]] = {Attribute.KEY_TYPE: KeyType.EC_EDWARDS, Attribute.TOKEN: True}
_PUBLIC: Final[Mapping[Attribute, Any]] = {Attribute.PRIVATE: True, Attribute.VERIFY: True}
_PRIVATE: Final[Mapping[Attribute, Any]] = {
    Attribute.PRIVATE: True,
    Attribute.SENSITIVE: True,
    Attribute.EXTRACTABLE: False,
    Attribute.SIGN: True,
}


class KeyDamaged(Exception):
    """What the token holds under a name is not one whole key; the text says why."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a key is for."""

    name: str
    key_type: str
    did: str
    purpose: str

    def check(self) -> None:
        """Raises ``KeyRefused``."""
        if self.key_type != multikey.ED25519:
            raise KeyRefused(
                "A key token holds Ed25519 keys only.",
                details={"type": self.key_type[:128], "supported": [multikey.ED25519]},
            )
        for text, most in ((self.name, 200), (self.did, 512), (self.purpose, 64)):
            if not is_printable(text, most):
                raise KeyRefused("A name, DID or purpose of a key is printable ASCII and not empty.")

    @property
    def identifier(self) -> bytes:
        """The ``CKA_ID``. No part holds a NUL, so no two labels are hashed alike."""
        parts = ("identity-service custodian key v1", self.name, self.key_type, self.did, self.purpose)
        return hashlib.sha256("\0".join(parts).encode("ascii")).digest()


def is_printable(text: str, most: int) -> bool:
    """Whether it is a name, DID or purpose that a key can have."""
    return 1 <= len(text) <= most and text.isascii() and text.isprintable()


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key that was found on the token and proved to sign for its public key."""

    private: Any
    identifier: bytes
    public_raw: bytes

    @property
    def public_key(self) -> str:
        """The public multikey."""
        return multikey.encode_public(multikey.ED25519, self.public_raw)

    def check(self) -> None:
        """Raises ``PKCS11Error`` when the object is no longer there: another process may have destroyed it."""
        self.private[Attribute.ID]

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature."""
        signature: bytes = self.private.sign(message, mechanism=Mechanism.EDDSA, buffer_size=64)
        return signature


def find(session: pkcs11.Session, name: str) -> TokenKey | None:
    """The key of this name. Raises ``KeyDamaged``.

    Somebody who may write to the token could put a public key of his own beside the private one; so the pair is tried
    once.
    """
    found = _objects(session, ObjectClass.PRIVATE_KEY, name)
    if not found:
        return None
    if len(found) > 1:
        raise KeyDamaged("the token has two private keys of this name")
    identifier: bytes = found[0][Attribute.ID]
    points = [
        one[Attribute.EC_POINT]
        for one in _objects(session, ObjectClass.PUBLIC_KEY, name)
        if one[Attribute.ID] == identifier
    ]
    if len(points) != 1:
        raise KeyDamaged("the token has not exactly one public key of this name")
    key = TokenKey(found[0], identifier, _point(points[0]))
    try:
        ed25519.verify(key.public_raw, _PROBE, key.sign(_PROBE))
    except ed25519.Ed25519SignatureInvalid as error:
        raise KeyDamaged("the private key does not sign for the public key beside it") from error
    return key


def names(session: pkcs11.Session) -> list[str]:
    """The names under which there is an Ed25519 key, or half of one, no matter who put it there."""
    return sorted({str(one[Attribute.LABEL]) for one in list(session.get_objects({**_OURS}))})


def generate(session: pkcs11.Session, label: Label, curve: bytes) -> None:
    """Has the token make a key."""
    _forget_halves(session, label.name)
    parameters = session.create_domain_parameters(KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: curve}, local=True)
    parameters.generate_keypair(
        id=label.identifier,
        label=label.name,
        store=True,
        mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN,
        capabilities=pkcs11.MechanismFlag.SIGN | pkcs11.MechanismFlag.VERIFY,
        public_template={**_PUBLIC},
        private_template={**_PRIVATE},
    )


def take(session: pkcs11.Session, label: Label, secret: bytes, curve: bytes) -> None:
    """Puts a raw secret onto the token. Raises ``KeyRefused`` when the token takes no keys from outside."""
    _forget_halves(session, label.name)
    named = {**_OURS, Attribute.EC_PARAMS: curve, Attribute.LABEL: label.name, Attribute.ID: label.identifier}
    point = _OCTET_STRING + ed25519.generate(secret).public
    public = session.create_object(
        {Attribute.CLASS: ObjectClass.PUBLIC_KEY, Attribute.EC_POINT: point, **_PUBLIC, **named}
    )
    try:
        session.create_object({Attribute.CLASS: ObjectClass.PRIVATE_KEY, Attribute.VALUE: secret, **_PRIVATE, **named})
    except _NOT_TAKEN as error:
        public.destroy()
        raise KeyRefused("The key token takes no private keys from outside.") from error


def destroy(session: pkcs11.Session, name: str) -> None:
    """Removes every object of this name, private ones first."""
    for kind in (ObjectClass.PRIVATE_KEY, ObjectClass.PUBLIC_KEY):
        for one in _objects(session, kind, name):
            one.destroy()


_NOT_TAKEN: Final = (
    pkcs11.AttributeTypeInvalid,
    pkcs11.AttributeValueInvalid,
    pkcs11.AttributeReadOnly,
    pkcs11.TemplateInconsistent,
    pkcs11.TemplateIncomplete,
    pkcs11.FunctionNotSupported,
    pkcs11.FunctionRejected,
)


def _forget_halves(session: pkcs11.Session, name: str) -> None:
    """Removes a public object that a process left behind when it died before it made the private one."""
    for one in _objects(session, ObjectClass.PUBLIC_KEY, name):
        one.destroy()


def _objects(session: pkcs11.Session, kind: ObjectClass, name: str) -> list[Any]:
    # A list at once: until a search has ended, the session does nothing else.
    return list(session.get_objects({**_OURS, Attribute.CLASS: kind, Attribute.LABEL: name}))


def _point(octets: bytes) -> bytes:
    """The 32 bytes of a ``CKA_EC_POINT``: an OCTET STRING, which some tokens leave out."""
    raw = octets.removeprefix(_OCTET_STRING) if len(octets) == SECRET_BYTES + len(_OCTET_STRING) else octets
    if len(raw) != SECRET_BYTES:
        raise KeyDamaged("the public key is no Ed25519 key")
    return bytes(raw)
