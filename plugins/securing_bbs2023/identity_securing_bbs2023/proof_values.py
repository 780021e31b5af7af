"""Proof values (VC Data Integrity BBS 1.0 §3.3): a multibase text of a header and CBOR. The features for holder binding and
pseudonyms, which the draft marks as at risk, are left out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from identity_bbs.suite import MAX_MESSAGES
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import Hidden
from identity_securing_bbs2023 import cbor
from identity_securing_bbs2023.refused import malformed

BASE: Final = b"\xd9\x5d\x02"
DERIVED: Final = b"\xd9\x5d\x03"
MAX_QUADS: Final = 2 * MAX_MESSAGES
"""Statements of a document: those that are signed as messages, and as many mandatory ones."""


class BaseProofValue(Hidden, Struct, frozen=True):
    """The proof value that an issuer gives to a holder. The HMAC key is a secret of both: it hides how the labels of
    blank nodes are shuffled."""

    signature: bytes
    header: bytes
    public_key: bytes
    hmac_key: bytes
    mandatory: list[str]

    def encode(self) -> str:
        """Return the text."""
        parts = [self.signature, self.header, self.public_key, self.hmac_key, self.mandatory]
        return "u" + base64url_encode(BASE + cbor.encode(parts))


class DerivedProofValue(Struct, frozen=True):
    """The proof value that a holder presents. ``labels`` maps the number of a canonical label in the revealed document
    to that of a shuffled one; ``mandatory`` are indexes into the revealed statements, ``selective`` into the signed
    messages."""

    proof: bytes
    labels: dict[int, int]
    mandatory: list[int]
    selective: list[int]
    presentation_header: bytes

    def encode(self) -> str:
        """Return the text."""
        parts = [self.proof, self.labels, self.mandatory, self.selective, self.presentation_header]
        return "u" + base64url_encode(DERIVED + cbor.encode(parts))


def decode_base(text: Any) -> BaseProofValue:
    """Raise ``Malformed`` for anything else, a derived proof too."""
    value = _decoded(text, BASE, "the proof value is not that of a base proof")
    if [type(part) for part in value[:4]] != [bytes] * 4 or [len(part) for part in value[:4]] != [80, 64, 96, 32]:
        malformed("a part of the base proof is not as long as it is")
    if not isinstance(value[4], list) or not all(isinstance(pointer, str) for pointer in value[4]):
        malformed("the mandatory pointers are not texts")
    return BaseProofValue(*value)


def decode_derived(text: Any) -> DerivedProofValue:
    """Raise ``Malformed`` for anything else, a base proof too: a verifier must not see the HMAC key."""
    value = _decoded(text, DERIVED, "the proof value is not that of a derived proof")
    if [type(part) for part in value] != [bytes, dict, list, list, bytes]:
        malformed("a part of the derived proof is of another type")
    if not _ascend(value[2]) or not _ascend(value[3]) or len(set(value[1].values())) != len(value[1]):
        malformed("indexes or labels of the derived proof are not each its own")
    return DerivedProofValue(*value)


def _ascend(indexes: list[Any]) -> bool:
    """Return whether they are strictly ascending indexes, of which no document has more."""
    if len(indexes) > MAX_QUADS or not all(isinstance(index, int) for index in indexes):
        return False
    return all(low < high for low, high in pairwise(indexes))


def _decoded(text: Any, header: bytes, otherwise: str) -> list[Any]:
    if not isinstance(text, str) or not text.startswith("u"):
        malformed("the proof value is not base64url multibase")
    try:
        data = base64url_decode(text[1:])
        value = cbor.decode(data[len(header) :]) if data.startswith(header) else None
    except ValueError:
        malformed(otherwise)
    if not isinstance(value, list) or len(value) != 5:
        malformed(otherwise)
    return value
