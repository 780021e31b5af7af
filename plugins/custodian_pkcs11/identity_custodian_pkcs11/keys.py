"""A key on the token: a private and a public object of one label and one id.

``CKA_LABEL`` is the key's name, so that the token's own tools show it. ``CKA_ID`` is a hash of everything that the key is
for: DIDs are longer than what many tokens take there, and the port only asks whether type, DID and purpose are the same.
Both objects are private ones: without the PIN the names are unreadable. The private object is made last and goes first, so
that a key whose private object is there has all of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import pkcs11
from msgspec import Struct
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

from identity_codec import ed25519, multikey, p256
from identity_codec.values import Hidden
from identity_core.ports.custodian import KeyRefused

SECRET_BYTES: Final = 32

# PKCS#11 3.0 §2.3.10: CKA_EC_PARAMS of an Edwards curve is its name or its object identifier (RFC 8410), in DER.
CURVES: Final = {"name": b"\x13\x0cedwards25519", "oid": b"\x06\x03\x2b\x65\x70"}
# The object identifier of P-256 (RFC 5480 §2.1.1.1), in DER.
_P256: Final = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
_KINDS: Final = {multikey.ED25519: KeyType.EC_EDWARDS, multikey.P256: KeyType.EC}
# An OCTET STRING of a point: 32 bytes on the Edwards curve; 65 on P-256, not compressed.
_POINTS: Final = {multikey.ED25519: (b"\x04\x20", 32), multikey.P256: (b"\x04\x41", 65)}
_PROBE: Final = b"identity-service: is this the private key of this public key?"

_PUBLIC: Final[Mapping[Attribute, Any]] = {Attribute.PRIVATE: True, Attribute.VERIFY: True}
_PRIVATE: Final[Mapping[Attribute, Any]] = {
    Attribute.PRIVATE: True,
    Attribute.SENSITIVE: True,
    Attribute.EXTRACTABLE: False,
    Attribute.SIGN: True,
}


class KeyDamaged(Exception):
    """The objects of the token under a name are not one whole key; the text states the reason."""


class Label(Struct, frozen=True):
    """The purpose of a key."""

    name: str
    key_type: str
    did: str
    purpose: str

    def check(self) -> None:
        """Raise ``KeyRefused``."""
        if self.key_type not in _KINDS:
            raise KeyRefused(
                "A key token holds keys on Ed25519 and P-256 only.",
                details={"type": self.key_type[:128], "supported": [*_KINDS]},
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
    """Return whether it is a name, DID or purpose that a key can have."""
    return 1 <= len(text) <= most and text.isascii() and text.isprintable()


class TokenKey(Hidden, Struct, frozen=True):
    """A key that was found on the token and proved to sign for its public key. ``public_raw`` is what a multikey has of a ``key_type``."""

    private: Any
    key_type: str
    identifier: bytes
    public_raw: bytes

    @property
    def public_key(self) -> str:
        """The public multikey."""
        return multikey.encode_public(self.key_type, self.public_raw)

    def check(self) -> None:
        """Raise ``PKCS11Error`` when the object is no longer there: another process may have destroyed it."""
        self.private[Attribute.ID]

    def sign(self, message: bytes) -> bytes:
        """Return the signature of Ed25519, or ECDSA with SHA-256. The hash is made here: not every token has the mechanism that
        makes both."""
        mechanism = Mechanism.EDDSA if self.key_type == multikey.ED25519 else Mechanism.ECDSA
        signed = message if self.key_type == multikey.ED25519 else hashlib.sha256(message).digest()
        signature: bytes = self.private.sign(signed, mechanism=mechanism, buffer_size=64)
        return signature

    def check_pair(self) -> None:
        """Raise ``KeyDamaged`` unless it signs for the public key."""
        verify = ed25519.verify if self.key_type == multikey.ED25519 else p256.verify
        try:
            verify(self.public_raw, _PROBE, self.sign(_PROBE))
        except (ed25519.Ed25519SignatureInvalid, p256.P256SignatureInvalid) as error:
            raise KeyDamaged("the private key does not sign for the public key beside it") from error


def find(session: pkcs11.Session, name: str) -> TokenKey | None:
    """Return the key of this name. Raises ``KeyDamaged``.

    A user who may write to the token could put another public key beside the private one; so the pair is tried once.
    """
    found = [(kind, one) for kind in _KINDS for one in _objects(session, ObjectClass.PRIVATE_KEY, name, kind)]
    if not found:
        return None
    if len(found) > 1:
        raise KeyDamaged("the token has two private keys of this name")
    ((kind, private),) = found
    identifier: bytes = private[Attribute.ID]
    points = [
        one[Attribute.EC_POINT]
        for one in _objects(session, ObjectClass.PUBLIC_KEY, name, kind)
        if one[Attribute.ID] == identifier
    ]
    if len(points) != 1:
        raise KeyDamaged("the token has not exactly one public key of this name")
    key = TokenKey(private, kind, identifier, _point(kind, points[0]))
    key.check_pair()
    return key


def names(session: pkcs11.Session) -> list[str]:
    """Return the names under which the token has a key of a supported type, or half of one, from any creator."""
    found = [one for kind in _KINDS for one in list(session.get_objects(_ours(kind)))]
    return sorted({str(one[Attribute.LABEL]) for one in found})


def generate(session: pkcs11.Session, label: Label, curve: bytes) -> None:
    """Generate a key on the token."""
    _forget_halves(session, label.name)
    is_edwards = label.key_type == multikey.ED25519
    parameters = session.create_domain_parameters(
        _KINDS[label.key_type], {Attribute.EC_PARAMS: curve if is_edwards else _P256}, local=True
    )
    parameters.generate_keypair(
        id=label.identifier,
        label=label.name,
        store=True,
        mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN if is_edwards else Mechanism.EC_KEY_PAIR_GEN,
        capabilities=pkcs11.MechanismFlag.SIGN | pkcs11.MechanismFlag.VERIFY,
        public_template={**_PUBLIC},
        private_template={**_PRIVATE},
    )


def take(session: pkcs11.Session, label: Label, secret: bytes, curve: bytes) -> None:
    """Put a raw secret onto the token. Raises ``KeyRefused`` when it is invalid, and when the token takes no keys from outside."""
    _forget_halves(session, label.name)
    is_edwards = label.key_type == multikey.ED25519
    named = {
        **_ours(label.key_type),
        Attribute.EC_PARAMS: curve if is_edwards else _P256,
        Attribute.LABEL: label.name,
        Attribute.ID: label.identifier,
    }
    public_raw = public_of(label.key_type, secret)
    point = public_raw if is_edwards else b"\x04" + b"".join(p256.coordinates(public_raw))
    point = _POINTS[label.key_type][0] + point
    public = session.create_object(
        {Attribute.CLASS: ObjectClass.PUBLIC_KEY, Attribute.EC_POINT: point, **_PUBLIC, **named}
    )
    try:
        session.create_object({Attribute.CLASS: ObjectClass.PRIVATE_KEY, Attribute.VALUE: secret, **_PRIVATE, **named})
    except _NOT_TAKEN as error:
        public.destroy()
        raise KeyRefused("The key token takes no private keys from outside.") from error


def public_of(key_type: str, secret: bytes) -> bytes:
    """Return the public bytes of the multikey of a raw secret. Raises ``KeyRefused``."""
    if key_type == multikey.ED25519:
        return ed25519.generate(secret).public
    try:
        return p256.public_key(secret)
    except ValueError as error:
        raise KeyRefused("The secret is not a key of its type.") from error


def destroy(session: pkcs11.Session, name: str) -> None:
    """Remove every object of this name, private ones first."""
    for wanted in (ObjectClass.PRIVATE_KEY, ObjectClass.PUBLIC_KEY):
        for one in _all_objects(session, wanted, name):
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
    """Remove a public object that a process left behind when it died before it made the private one."""
    for one in _all_objects(session, ObjectClass.PUBLIC_KEY, name):
        one.destroy()


def _ours(kind: str) -> dict[Attribute, Any]:
    return {Attribute.KEY_TYPE: _KINDS[kind], Attribute.TOKEN: True}


def _objects(session: pkcs11.Session, wanted: ObjectClass, name: str, kind: str) -> list[Any]:
    # A list at once: until a search has ended, the session does nothing else.
    return list(session.get_objects({**_ours(kind), Attribute.CLASS: wanted, Attribute.LABEL: name}))


def _all_objects(session: pkcs11.Session, wanted: ObjectClass, name: str) -> list[Any]:
    return [one for kind in _KINDS for one in _objects(session, wanted, name, kind)]


def _point(kind: str, data: bytes) -> bytes:
    """Return the public bytes of a ``CKA_EC_POINT``: an OCTET STRING, which some tokens leave out."""
    head, length = _POINTS[kind]
    raw = bytes(data.removeprefix(head) if len(data) == length + len(head) else data)
    if len(raw) != length:
        raise KeyDamaged("the public key is not one of its type")
    if kind == multikey.ED25519:
        return raw
    try:
        # What does not begin so is not a point that is written out (SEC 1, 2.3.3).
        if raw[:1] != b"\x04":
            raise ValueError("not written out")
        return p256.compress(raw[1:33], raw[33:])
    except ValueError as error:
        raise KeyDamaged("the public key is not a point of P-256") from error
