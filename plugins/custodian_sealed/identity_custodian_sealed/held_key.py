"""One key, unsealed: what it is, and what can be done with it. Key types are those of ``codec.multikey``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from identity_bbs import blind
from identity_bbs.blind import IssueRequest
from identity_client import possession
from identity_codec import ed25519, multikey, p256, x25519
from identity_codec.values import Hidden
from identity_core.ports.custodian import KeyRefused

SIGN_BBS = "sign_bbs"
CAPABILITIES = frozenset({multikey.ED25519, multikey.X25519, multikey.BLS12381G2, multikey.P256, SIGN_BBS})

SECRET_BYTES = 32


MAX_NAME = 200
MAX_DID = 512


def check_texts(*texts: tuple[str, int]) -> None:
    """Raise ``KeyRefused`` unless each is printable ASCII, not empty and no longer than that."""
    for text, most in texts:
        if not 1 <= len(text) <= most or not (text.isascii() and text.isprintable()):
            raise KeyRefused("A name, DID or purpose of a key is printable ASCII and not empty.")


class Label(Struct, frozen=True):
    """The purpose of a key. It is authenticated with the key's box, so a box that is moved to another row does not open
    there."""

    name: str
    key_type: str
    did: str
    purpose: str

    def check(self) -> None:
        """Raise ``KeyRefused``."""
        if self.key_type not in CAPABILITIES - {SIGN_BBS}:
            raise KeyRefused("The custodian does not hold keys of this type.", details={"type": self.key_type[:128]})
        check_texts((self.name, MAX_NAME), (self.did, MAX_DID), (self.purpose, 64))

    def encode(self, public_key: str) -> bytes:
        """Return the associated data of the box. No part holds a NUL, so no two labels have the same bytes."""
        parts = ("identity-service custodian key v1", self.name, self.key_type, self.did, self.purpose, public_key)
        return "\0".join(parts).encode("ascii")


class HeldKey(Hidden, Struct, frozen=True):
    """A key in memory. ``public_key`` is a multikey, ``public_raw`` the bytes within it."""

    label: Label
    public_key: str
    public_raw: bytes
    secret: bytes

    @classmethod
    def from_secret(cls, label: Label, secret: bytes) -> HeldKey:
        """Return the key of a raw secret. Raises ``KeyRefused`` when it is not a secret of its type."""
        if len(secret) != SECRET_BYTES:
            raise KeyRefused(f"A secret has {SECRET_BYTES} bytes.")
        try:
            raw = _public_raw(label.key_type, secret)
        except ValueError as error:
            raise KeyRefused("The secret is not a key of its type.") from error
        return cls(label, multikey.encode_public(label.key_type, raw), raw, secret)

    @classmethod
    def generated(cls, label: Label, random: Callable[[int], bytes]) -> HeldKey:
        """Return a new key from 32 bytes of ``random``."""
        material = random(SECRET_BYTES)
        if label.key_type == multikey.BLS12381G2:
            from identity_bbs.bls12381 import keys as bls

            material = bls.generate_secret(material)
        elif label.key_type == multikey.P256:
            material = p256.generate_secret(material)
        return cls.from_secret(label, material)

    def sign(self, message: bytes) -> bytes:
        """Return the signature of Ed25519, or of ECDSA for a key on P-256. Raises ``KeyRefused`` for another type."""
        if self.label.key_type == multikey.P256:
            return p256.sign(self.secret, message)
        self._require(multikey.ED25519)
        return ed25519.Ed25519KeyPair(self.secret, self.public_raw).sign(message)

    def sign_bbs(self, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        """Return the BBS signature. Raises ``KeyRefused`` for another type, the header of a proof of possession, and messages that
        the suite does not take."""
        self._require(multikey.BLS12381G2)
        if header.startswith(possession.POSSESSION_TAG):
            raise KeyRefused("A proof of possession is not made on request.")
        from identity_bbs import interface
        from identity_bbs.bls12381 import select
        from identity_bbs.suite import ciphersuite

        try:
            return interface.sign(ciphersuite(select()), self.secret, self.public_raw, header, messages)
        except ValueError as error:
            raise KeyRefused(f"The messages cannot be signed: {error}.") from error

    def sign_bbs_blind(self, messages: Sequence[bytes | int], commitment: bytes, request: IssueRequest) -> bytes:
        """Return the BBS signature on a commitment and the messages behind it. Raises ``KeyRefused`` as ``sign_bbs`` does, and for
        what is not a commitment for this request."""
        self._require(multikey.BLS12381G2)
        from identity_bbs.bls12381 import select
        from identity_bbs.encoding import mixed_messages_to_scalars, signature_to_octets
        from identity_bbs.suite import ciphersuite

        suite = ciphersuite(select())
        try:
            known = mixed_messages_to_scalars(messages)
            signed = blind.blind_sign(suite, self.secret, self.public_raw, request.header, known, commitment, request)
        except ValueError as error:
            raise KeyRefused(f"The commitment cannot be signed: {error}.") from error
        return signature_to_octets(suite, signed)

    def _require(self, key_type: str) -> None:
        if self.label.key_type != key_type:
            raise KeyRefused("A key of this type does not make this kind of signature.", details={"needs": key_type})


def _public_raw(key_type: str, secret: bytes) -> bytes:
    if key_type == multikey.ED25519:
        return ed25519.generate(secret).public
    if key_type == multikey.X25519:
        return x25519.public_key(secret)
    if key_type == multikey.P256:
        return p256.public_key(secret)
    # Imported late: the curve backends are slow to load, and many installations never need them.
    from identity_bbs.bls12381 import keys as bls

    return bls.public_key(secret)
