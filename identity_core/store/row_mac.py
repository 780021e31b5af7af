"""What marks a row as ours: BLAKE2b keyed with a key that follows from one of the custodian's (RFC 7693 §2.5, RFC 5869).

A row of the document index has a tag over all that it says, a head of the audit log one over how far the chain reaches. Anyone who can
write to the database and does not hold the custodian's keys cannot make one; that an old row was put back, or one was taken
away, is not for a tag to find but for the ledger.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from typing import Any, Final

from identity_codec.sealing import derive_key

TAG_BYTES: Final = 32
_VERSION: Final = struct.Struct(">5q7I")
_ABSENT: Final = 0xFFFFFFFF


class RowMac:
    """Tags for rows of one kind. ``secret`` has full entropy; ``info`` names the kind."""

    def __init__(self, secret: bytes, info: bytes) -> None:
        self._keyed = hashlib.blake2b(key=derive_key(secret, info=info), digest_size=TAG_BYTES)

    def tag(self, octets: bytes) -> bytes:
        """32 octets for an unambiguous encoding of a row."""
        keyed = self._keyed.copy()
        keyed.update(octets)
        return keyed.digest()

    def holds(self, octets: bytes, tag: object) -> bool:
        """Whether ``tag`` was made here for the same octets."""
        return isinstance(tag, bytes | memoryview) and hmac.compare_digest(self.tag(octets), bytes(tag))


def version_octets(row: Sequence[Any]) -> bytes:
    """The encoding of a row of ``did_versions``: did, version_id, printed_second, sequence, block_number, recorded_at,
    transaction_hash, state, document, changes, key_id, owner. Raises ``TypeError``, ``struct.error`` or ``AttributeError`` for a
    row whose columns have other types: none that was written here."""
    did, version_id, second, sequence, block, at, digest, state, document, changes, key_id, owner = row
    name = did.encode()
    key_length, key = _optional(key_id)
    owner_length, owned = _optional(owner)
    lengths = (len(name), key_length, owner_length, len(digest), len(state), len(document), len(changes))
    fixed = _VERSION.pack(version_id, second, sequence, block, at, *lengths)
    return b"".join((fixed, name, key, owned, digest, state, document, changes))


def _optional(text: Any) -> tuple[int, bytes]:
    """The length and octets of a text that may be absent, which is another length than that of an empty one."""
    if text is None:
        return _ABSENT, b""
    octets: bytes = text.encode()
    return len(octets), octets
