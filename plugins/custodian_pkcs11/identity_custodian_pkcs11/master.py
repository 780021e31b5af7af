"""The key on the token that holders' secrets follow from: HMAC-SHA-256 under a key that the token made and never gives out.

A token does no arithmetic on BLS12-381, so a secret itself is in the process for the time of one call. What the token keeps is what all of
them follow from: without it, and the PIN, no copy of disks or of memory from another time makes one.
"""

from __future__ import annotations

from typing import Any, Final

import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, MechanismFlag, ObjectClass

from identity_custodian_pkcs11.keys import KeyDamaged

LABEL: Final = "identity-service holders v1"
BITS: Final = 256

_OURS: Final = {
    Attribute.CLASS: ObjectClass.SECRET_KEY,
    Attribute.KEY_TYPE: KeyType.GENERIC_SECRET,
    Attribute.LABEL: LABEL,
    Attribute.TOKEN: True,
}
_KEPT: Final = {Attribute.PRIVATE: True, Attribute.SENSITIVE: True, Attribute.EXTRACTABLE: False, Attribute.SIGN: True}
# PKCS#11 2.40 §4.2 and §4.9: the token itself made it, and it never was outside.
_NEVER_OUTSIDE: Final = (Attribute.LOCAL, Attribute.ALWAYS_SENSITIVE, Attribute.NEVER_EXTRACTABLE)


def find(session: pkcs11.Session) -> Any | None:
    """Return the key, or None where the token has none. Raises ``KeyDamaged`` for two, and for one that may be exposed."""
    found = list(session.get_objects({**_OURS}))
    if not found:
        return None
    if len(found) > 1:
        raise KeyDamaged("the token has two keys that holders' secrets would follow from")
    if not all(found[0][attribute] for attribute in _NEVER_OUTSIDE):
        raise KeyDamaged("the key that holders' secrets follow from was not made on this token, or can leave it")
    return found[0]


def make(session: pkcs11.Session) -> None:
    """Generate the key on the token."""
    session.generate_key(
        KeyType.GENERIC_SECRET,
        BITS,
        label=LABEL,
        store=True,
        mechanism=Mechanism.GENERIC_SECRET_KEY_GEN,
        capabilities=MechanismFlag.SIGN,
        template={**_KEPT},
    )


def derive(key: Any, info: bytes) -> bytes:
    """Return the 32 bytes that follow from the key for ``info``."""
    material: bytes = key.sign(info, mechanism=Mechanism.SHA256_HMAC)
    return material
