"""The content of the seal's box: the data key, and what the secrets of holders follow from."""

from __future__ import annotations

from msgspec import Struct

from identity_codec import sealing
from identity_codec.values import Hidden

_PURPOSE = b"identity-service custodian data key v1"
_LATER_PURPOSE = b"identity-service custodian data key v2, generation "
_ROOTS_PURPOSE = b"identity-service custodian data key v3, generation "


class DataKey(Hidden, Struct, frozen=True):
    """``key`` seals, the secrets of holders follow from the ``roots``, new ones from the last; each has 32 bytes. ``generation`` counts
    from 1."""

    generation: int
    key: bytes
    roots: tuple[bytes, ...]

    @property
    def encoded(self) -> bytes:
        """Return the content of the box. The first data key is both."""
        return self.key if self.generation == 1 else self.key + b"".join(self.roots)

    @classmethod
    def from_contents(cls, generation: int, data: bytes) -> DataKey:
        """Return the content of a decrypted box."""
        keys = tuple(data[at : at + sealing.KEY_BYTES] for at in range(0, len(data), sealing.KEY_BYTES))
        return cls(generation, keys[0], keys[1:] or keys)


def purpose(generation: int, roots: int) -> bytes:
    """Return the purpose bytes of the box. A later generation and several roots each have their own, which older versions refuse."""
    if generation == 1:
        return _PURPOSE
    return (_LATER_PURPOSE if roots == 1 else _ROOTS_PURPOSE) + str(generation).encode()


def roots_in(box: bytes) -> int:
    """Return how many there are in a box of a later generation, by its length; what lies in it is bound to the number."""
    return (len(box) - sealing.OVERHEAD) // sealing.KEY_BYTES - 1
