"""Signed notes and verifier keys: C2SP signed-note, with its two Ed25519 kinds of signature.

A note is text, a blank line and signature lines. Signatures of unknown keys are passed over; one of a known key that is
wrong refutes the whole note. Left out: ECDSA, ML-DSA-44 and RFC 6962 tree heads.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from identity_core.crypto import ed25519
from identity_core.domain.merkle.refusals import Malformed

LOG: Final = 0x01
WITNESS: Final = 0x04
MAX_NOTE: Final = 64 * 1024
_DASH: Final = "\u2014"
_NAME: Final = re.compile(r"[^\s+]+")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public key of a log (``kind`` LOG) or of a witness (WITNESS) under its name."""

    name: str
    public: bytes
    kind: int = LOG

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None or _CONTROL.search(self.name) or self.kind not in (LOG, WITNESS):
            raise Malformed("the name of a key has no blank and no plus; its kind is Ed25519, plain or timestamped")
        try:
            ed25519.check_public_key(self.public)
        except ed25519.InvalidEd25519Key as error:
            raise Malformed("not an Ed25519 public key") from error

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """From ``name+hex id+base64``. Raises ``Malformed``."""
        # A name has no plus; base64 may.
        parts = text.strip().split("+", 2)
        if len(parts) != 3:
            raise Malformed("a verifier key has the form name+id+key")
        octets = base64_decode(parts[2])
        key = cls(parts[0], octets[1:], octets[0] if octets else 0)
        if parts[1] != key.id.hex():
            raise Malformed("the verifier key's id is not that of its key")
        return key

    @property
    def id(self) -> bytes:
        """The four octets that, with the name, tell keys apart."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64_encode(bytes([self.kind]) + self.public)}"

    def line(self, signature: bytes) -> str:
        """The signature line, closed by a newline."""
        return f"{_DASH} {self.name} {base64_encode(self.id + signature)}\n"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A signed note. ``text`` ends in a newline; nothing is verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]

    @classmethod
    def parse(cls, octets: bytes) -> Note:
        """Raises ``Malformed``."""
        if len(octets) > MAX_NOTE:
            raise Malformed("the note is too large")
        try:
            whole = octets.decode()
        except UnicodeDecodeError as error:
            raise Malformed("the note is not UTF-8") from error
        head, blank, tail = whole.rpartition("\n\n")
        if not blank or not head or _CONTROL.search(whole) or not tail.endswith("\n"):
            raise Malformed("the note is not text, a blank line and signature lines")
        return cls(head + "\n", tuple(_signature(line) for line in tail[:-1].split("\n")))

    def by(self, key: VerifierKey) -> NoteSignature | None:
        """The signature that says it is by ``key``, not yet verified."""
        return next((one for one in self.signatures if (one.name, one.key_id) == (key.name, key.id)), None)


def _signature(line: str) -> NoteSignature:
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != _DASH or _NAME.fullmatch(parts[1]) is None:
        raise Malformed("a signature line has the form \u2014 name base64")
    octets = base64_decode(parts[2])
    if len(octets) < 5:
        raise Malformed("a signature line holds no signature")
    return NoteSignature(parts[1], octets[:4], octets[4:])


def base64_encode(octets: bytes) -> str:
    """Base64 with padding (RFC 4648 §4), which the C2SP formats use."""
    return base64.b64encode(octets).decode("ascii")


def base64_decode(text: str) -> bytes:
    """The octets of base64 text in its one canonical form. Raises ``Malformed``."""
    try:
        octets = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed("not base64") from error
    if base64_encode(octets) != text:
        raise Malformed("base64 with bits left over")
    return octets
