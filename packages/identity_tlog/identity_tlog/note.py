"""Signed notes and verifier keys: C2SP signed-note. A key is a log's (Ed25519), or a witness's (timestamped, Ed25519 or ML-DSA-44).

A note is text, a blank line and signature lines. Signatures of unknown keys are passed over; one of a known key that is
wrong refutes the whole note. Left out: ECDSA and RFC 6962 tree heads.

Checkpoints and their cosignatures: C2SP tlog-checkpoint and tlog-cosignature. Where ``cryptography`` has no ML-DSA-44, a cosignature
of that kind is one of an unknown key.

A checkpoint states the number of entries of a log, and their root. Extension lines are refused: no monitor could check them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import CryptoError
from nacl.signing import VerifyKey

from identity_tlog import mldsa
from identity_tlog.tree import HASH_BYTES, Malformed, Refuted

LOG: Final = 0x01
WITNESS: Final = 0x04
WITNESS_ML_DSA: Final = 0x06
MAX_NOTE: Final = 64 * 1024
_DASH: Final = "\u2014"
_NAME: Final = re.compile(r"[^\s+]+")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public key of a log (``kind`` LOG) or of a witness (WITNESS, WITNESS_ML_DSA) under its name."""

    name: str
    public: bytes
    kind: int = LOG

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None or _CONTROL.search(self.name) or _SURROGATE.search(self.name):
            raise Malformed("the name of a key is UTF-8 without a blank and a plus")
        if self.kind not in (LOG, WITNESS, WITNESS_ML_DSA):
            raise Malformed("the kind of a key is Ed25519, plain or timestamped, or ML-DSA-44")
        if self.kind == WITNESS_ML_DSA:
            if len(self.public) != mldsa.PUBLIC_BYTES:
                raise Malformed("not an ML-DSA-44 public key")
            return
        # The canonical form of a point of the prime-order subgroup that is not the identity.
        if len(self.public) != 32 or not crypto_core_ed25519_is_valid_point(self.public):
            raise Malformed("not an Ed25519 public key")

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """Parse ``name+hex id+base64``. Raises ``Malformed``."""
        # A name has no plus; base64 may.
        parts = text.strip().split("+", 2)
        if len(parts) != 3:
            raise Malformed("a verifier key has the form name+id+key")
        data = base64_decode(parts[2])
        key = cls(parts[0], data[1:], data[0] if data else 0)
        if parts[1] != key.id.hex():
            raise Malformed("the verifier key's id is not that of its key")
        return key

    @property
    def id(self) -> bytes:
        """The four bytes that, with the name, distinguish keys."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64_encode(bytes([self.kind]) + self.public)}"

    def line(self, signature: bytes) -> str:
        """Return the signature line, closed by a newline."""
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
    def parse(cls, data: bytes) -> Note:
        """Raise ``Malformed``."""
        if len(data) > MAX_NOTE:
            raise Malformed("the note is too large")
        try:
            whole = data.decode()
        except UnicodeDecodeError as error:
            raise Malformed("the note is not UTF-8") from error
        head, blank, tail = whole.rpartition("\n\n")
        if not blank or not head or _CONTROL.search(whole) or not tail.endswith("\n"):
            raise Malformed("the note is not text, a blank line and signature lines")
        return cls(head + "\n", tuple(_signature(line) for line in tail[:-1].split("\n")))

    def find_signature(self, key: VerifierKey) -> NoteSignature | None:
        """Return the signature that names ``key``, not yet verified."""
        return next((one for one in self.signatures if (one.name, one.key_id) == (key.name, key.id)), None)

    def _find_by_old_name(self, key: VerifierKey) -> NoteSignature | None:
        warnings.warn("Note.by leaves in 1.2: call find_signature", DeprecationWarning, stacklevel=2)
        return self.find_signature(key)

    by = _find_by_old_name


def _signature(line: str) -> NoteSignature:
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != _DASH or _NAME.fullmatch(parts[1]) is None:
        raise Malformed("a signature line has the form \u2014 name base64")
    data = base64_decode(parts[2])
    if len(data) < 5:
        raise Malformed("a signature line holds no signature")
    return NoteSignature(parts[1], data[:4], data[4:])


def base64_encode(data: bytes) -> str:
    """Base64 with padding (RFC 4648 §4), which the C2SP formats use."""
    return base64.b64encode(data).decode("ascii")


def base64_decode(text: str) -> bytes:
    """Return the bytes of base64 text in its one canonical form. Raises ``Malformed``."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed("not base64") from error
    if base64_encode(data) != text:
        raise Malformed("base64 with bits left over")
    return data


_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The statement that a log signs."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The note's text: three lines."""
        return f"{self.origin}\n{self.size}\n{base64_encode(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Parse a note's text. Raises ``Malformed``."""
        lines = text.split("\n")
        if len(lines) != 4 or not lines[0] or lines[3]:
            raise Malformed("a checkpoint has three lines: origin, size and root")
        root = base64_decode(lines[2])
        if _SIZE.fullmatch(lines[1]) is None or len(root) != HASH_BYTES:
            raise Malformed("the size or the root of the checkpoint is malformed")
        return cls(lines[0], int(lines[1]), root)


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint whose signature by the log was verified, the bytes that hold it, and by whom it was cosigned when."""

    checkpoint: Checkpoint
    encoded: bytes = field(repr=False)
    cosigned: dict[str, datetime]


def sign_checkpoint(checkpoint: Checkpoint, key: VerifierKey, signature: bytes) -> bytes:
    """Return the signed note; ``signature`` is that of the log over ``checkpoint.text``."""
    return f"{checkpoint.text}\n{key.line(signature)}".encode()


def open_checkpoint(
    data: bytes, log: VerifierKey, witnesses: Iterable[VerifierKey] = (), *, cosignatures: int = 0
) -> SignedCheckpoint:
    """Return the checkpoint that ``log`` has signed and at least so many of ``witnesses`` have cosigned.

    Raises ``Malformed``; ``Refuted`` for a wrong or missing signature and for a checkpoint of another log.
    """
    note = Note.parse(data)
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != log.name:
        raise Refuted(f"the checkpoint is of another log, {checkpoint.origin}")
    found = note.find_signature(log)
    if found is None:
        raise Refuted("the checkpoint is not signed by the key of the log")
    _verify(log, note.text.encode(), found.signature)
    cosigned = {witness.name: at for witness in witnesses if (at := cosigned_at(note, witness)) is not None}
    if len(cosigned) < cosignatures:
        raise Refuted(f"{len(cosigned)} of the witnesses have cosigned the checkpoint, {cosignatures} were asked for")
    return SignedCheckpoint(checkpoint, data, cosigned)


def cosignature_message(text: str, seconds: int) -> bytes:
    """Return the message that a witness signs with Ed25519 at a POSIX time."""
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def subtree_message(name: str, seconds: int, checkpoint: Checkpoint) -> bytes:
    """Return the message that the witness ``name`` signs with ML-DSA-44 at a POSIX time: the whole tree of the
    checkpoint as a subtree. Raises ``Malformed`` for a name or an origin of more than 255 bytes."""
    signer, origin = name.encode(), checkpoint.origin.encode()
    if max(len(signer), len(origin)) > 255:
        raise Malformed("a name in an ML-DSA-44 cosignature has at most 255 bytes")
    numbers = (seconds, 0, checkpoint.size)
    time, start, end = (number.to_bytes(8, "big") for number in numbers)
    head = b"subtree/v1\n\0" + bytes([len(signer)]) + signer + time + bytes([len(origin)]) + origin
    return head + start + end + checkpoint.root


def cosignature_line(key: VerifierKey, seconds: int, signature: bytes) -> str:
    """Return the line that a witness answers with."""
    return key.line(seconds.to_bytes(8, "big") + signature)


def cosigned_at(note: Note, witness: VerifierKey) -> datetime | None:
    """Return the time at which ``witness`` cosigned the note, None if it did not. Raises ``Refuted``: for an invalid cosignature.
    Raises ``Malformed``: for a note that is not a checkpoint."""
    found = note.find_signature(witness)
    if found is None or witness.kind == LOG or (witness.kind == WITNESS_ML_DSA and not mldsa.is_available()):
        return None
    seconds, signature = int.from_bytes(found.signature[:8], "big"), found.signature[8:]
    length = 64 if witness.kind == WITNESS else mldsa.SIGNATURE_BYTES
    if len(signature) != length or not 0 < seconds < 2**63:
        raise Refuted(f"the cosignature of {witness.name} has another form")
    if witness.kind == WITNESS:
        _verify(witness, cosignature_message(note.text, seconds), signature)
    else:
        _verify(witness, subtree_message(witness.name, seconds, Checkpoint.parse(note.text)), signature)
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise Refuted(f"the cosignature of {witness.name} is of no time that there is") from error


def _verify(key: VerifierKey, message: bytes, signature: bytes) -> None:
    try:
        if key.kind == WITNESS_ML_DSA:
            mldsa.verify(key.public, message, signature)
        else:
            VerifyKey(key.public).verify(message, signature)
    except (CryptoError, ValueError, mldsa.MlDsaSignatureInvalid) as error:
        raise Refuted(f"the signature of {key.name} is wrong") from error
