"""Key types, public keys and verification relationships (DID Core §5.2, §5.3; the suites of 2020, and that of 2019 for P-256).

A public key is exchanged as its multikey (multibase base58btc of multicodec prefix and raw bytes); the prefix determines its
type. This module checks the purposes of types and refuses weak keys, for every operation: creation, update, rotation, recovery,
import.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from msgspec import Struct

from identity_codec import ed25519, jwk, multikey, p256, x25519
from identity_codec.strict_json import JsonValue
from identity_core.cache import BoundedCache
from identity_core.domain.inputs import PUBLIC_KEY, TERM, echoed
from identity_core.errors import InvalidDocument

AUTHENTICATION: Final = "authentication"
ASSERTION_METHOD: Final = "assertionMethod"
KEY_AGREEMENT: Final = "keyAgreement"
CAPABILITY_INVOCATION: Final = "capabilityInvocation"
CAPABILITY_DELEGATION: Final = "capabilityDelegation"

RELATIONSHIPS: Final = (AUTHENTICATION, ASSERTION_METHOD, KEY_AGREEMENT, CAPABILITY_INVOCATION, CAPABILITY_DELEGATION)
"""The verification relationships in the order in which a document lists them."""

RECOVERY: Final = "recovery"
"""The purpose of a recovery key: it is in no document, and one signature of it gives the DID new keys."""


class KeyType(Struct, frozen=True):
    """A verification method type. ``secondary`` are the default purposes of a key that is not the first of its document. They
    apply if the request names no purposes."""

    name: str
    context: str
    allowed: tuple[str, ...]
    primary: tuple[str, ...]
    secondary: tuple[str, ...]


ED25519: Final = KeyType(
    multikey.ED25519,
    "https://w3id.org/security/suites/ed25519-2020/v1",
    allowed=(AUTHENTICATION, ASSERTION_METHOD, CAPABILITY_INVOCATION, CAPABILITY_DELEGATION),
    primary=(AUTHENTICATION, ASSERTION_METHOD, CAPABILITY_INVOCATION, CAPABILITY_DELEGATION),
    secondary=(AUTHENTICATION,),
)
X25519: Final = KeyType(
    multikey.X25519,
    "https://w3id.org/security/suites/x25519-2020/v1",
    allowed=(KEY_AGREEMENT,),
    primary=(KEY_AGREEMENT,),
    secondary=(KEY_AGREEMENT,),
)
BLS12381G2: Final = KeyType(
    multikey.BLS12381G2,
    "https://w3id.org/security/suites/bls12381-2020/v1",
    allowed=(ASSERTION_METHOD,),
    primary=(ASSERTION_METHOD,),
    secondary=(ASSERTION_METHOD,),
)
P256: Final = KeyType(
    multikey.P256,
    "https://w3id.org/security/suites/ecdsa-2019/v1",
    allowed=(ASSERTION_METHOD,),
    primary=(ASSERTION_METHOD,),
    secondary=(ASSERTION_METHOD,),
)
KEY_TYPES: Final = {kind.name: kind for kind in (ED25519, X25519, BLS12381G2, P256)}
"""The key types by name, in the order in which a document lists their contexts."""

MULTIKEY: Final = "Multikey"
MULTIKEY_CONTEXT: Final = "https://w3id.org/security/multikey/v1"

_ALIASES: Final = {"Ed25519": ED25519.name}


def key_type(name: str) -> KeyType:
    """Return the key type of this name; ``Ed25519`` is short for ``Ed25519VerificationKey2020``. Raises ``InvalidDocument``: when this
    installation does not support the type."""
    kind = KEY_TYPES.get(_ALIASES.get(name, name))
    if kind is None:
        raise InvalidDocument(
            "The key type is unknown.", details={"type": echoed(name, TERM), "supported": [*_ALIASES, *KEY_TYPES]}
        )
    return kind


def default_purposes(name: str, *, primary: bool) -> tuple[str, ...]:
    """Return the purposes of a key without explicit purposes: for a primary Ed25519 key all but key agreement, for a later one
    authentication."""
    kind = key_type(name)
    return kind.primary if primary else kind.secondary


@lru_cache(maxsize=1024)
def _may_serve(name: str, purposes: tuple[str, ...]) -> bool:
    # The same few combinations occur for every key of every document.
    return bool(purposes) and set(purposes) <= set(key_type(name).allowed) and len(set(purposes)) == len(purposes)


def check_purposes(name: str, purposes: Collection[str]) -> None:
    """Check purposes. Raises ``InvalidDocument``: when there is none, one is repeated or not a relationship, or the type does not permit
    it."""
    if not _may_serve(name, tuple(purposes)):
        kind = key_type(name)
        raise InvalidDocument(
            "A key of this type cannot serve these purposes.",
            details={
                "type": kind.name,
                "purposes": [echoed(purpose, TERM) for purpose in purposes],
                "allowed": list(kind.allowed),
            },
        )


class PublicKey(Struct, frozen=True):
    """A checked public key: its type, its multikey, its raw bytes."""

    type: str
    multibase: str
    raw: bytes

    @classmethod
    def parse(cls, type_name: str, multibase: str) -> PublicKey:
        """Parse a public key. Raises ``InvalidDocument``: when the type is unknown, the text is not a multikey of that type, or the key
        is weak."""
        name = key_type(type_name).name
        known = _checked.get(multibase)
        if known is None:
            known = _checked.store(multibase, _check(multibase))
        if known.type != name:
            raise InvalidDocument(
                "The key is not of the type that it is said to be.", details={"type": name, "keyType": known.type}
            )
        return known

    @classmethod
    def from_jwk(cls, value: JsonValue) -> PublicKey:
        """Return the key of a public JWK. Raises ``InvalidDocument``, for a weak key too."""
        try:
            text = jwk.public_multikey(value)
        except ValueError as error:
            raise InvalidDocument(str(error), details={"member": "publicKeyJwk"}) from error
        return cls.parse(multikey.decode_public(text)[0], text)


@dataclass(slots=True, unsafe_hash=True)
class Key:
    """A key for a DID. ``type`` is a verification method type, ``public`` and ``secret`` are multikeys (CID 1.0 §2.2.2);
    ``purposes`` are verification relationships, or ``RECOVERY`` alone.

    ``secret`` is set if this service made the key. ``possession`` (80 bytes) is set if the client proves that it holds the secret of
    a BBS key. Neither is part of the change: an entry has the proofs separately from the change.
    """

    type: str
    public: str
    purposes: tuple[str, ...] = ()
    possession: bytes | None = field(default=None, compare=False, repr=False)
    secret: str | None = field(default=None, compare=False, repr=False)

    @property
    def secret_raw(self) -> bytes:
        """Return the 32 bytes of ``secret``. Raises ``ValueError``: when there is none."""
        return multikey.decode_secret(self.secret or "")[1]


def generate(type_name: str, random: Callable[[int], bytes], purposes: tuple[str, ...] = ()) -> Key:
    """Return a new key from 32 bytes of ``random``. Raises ``InvalidDocument``: when the type is unknown."""
    name = key_type(type_name).name
    material = random(32)
    if name == ED25519.name:
        secret, public = material, ed25519.generate(material).public
    elif name == X25519.name:
        secret, public = material, x25519.public_key(material)
    elif name == P256.name:
        secret = p256.generate_secret(material)
        public = p256.public_key(secret)
    else:
        from identity_bbs.bls12381 import keys as bls

        secret = bls.generate_secret(material)
        public = bls.public_key(secret)
    text = multikey.encode_public(name, public)
    _checked.store(text, PublicKey(name, text, public))
    return Key(name, text, purposes, secret=multikey.encode_secret(name, secret))


# Point checks take most of the time for a document. A key is checked when it is first received; the fold that follows
# in the same process, and each later version that still lists the key, need not do it again.
_checked: BoundedCache[str, PublicKey] = BoundedCache(8192)


def _check(multibase: str) -> PublicKey:
    try:
        name, raw = multikey.decode_public(multibase)
        if name == ED25519.name:
            ed25519.check_public_key(raw)
        elif name == X25519.name:
            x25519.check_public_key(raw)
        elif name == P256.name:
            p256.check_compressed_key(raw)
        else:
            # Imported late: the curve backends are slow to load, and most processes of the command line never need them.
            from identity_bbs.bls12381 import keys as bls

            bls.check_public_key(raw)
    except ValueError as error:
        _refuse_secret(multibase)
        raise InvalidDocument(
            f"The public key is not valid: {error}.", details={"publicKeyMultibase": echoed(multibase, PUBLIC_KEY)}
        ) from error
    return PublicKey(name, multibase, raw)


def _refuse_secret(multibase: str) -> None:
    """Refuse a secret key where a public key belongs. Raises ``InvalidDocument``: when the text is one. It does not show the text."""
    try:
        multikey.decode_secret(multibase)
    except ValueError:
        return
    raise InvalidDocument("This is a private key. Give its public key; take the private one as exposed.") from None
