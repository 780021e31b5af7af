"""Checkpoints and their cosignatures: C2SP tlog-checkpoint and the Ed25519 kind of tlog-cosignature.

A checkpoint says how many entries a log has and which root they make. Extension lines are refused: no monitor could check
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from identity_core.crypto import ed25519
from identity_core.domain.merkle.note import WITNESS, Note, VerifierKey, base64_decode, base64_encode
from identity_core.domain.merkle.refusals import Malformed, Refuted
from identity_core.domain.merkle.tree import HASH_BYTES

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log signs."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The note's text: three lines."""
        return f"{self.origin}\n{self.size}\n{base64_encode(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """From a note's text. Raises ``Malformed``."""
        lines = text.split("\n")
        if len(lines) != 4 or not lines[0] or lines[3]:
            raise Malformed("a checkpoint has three lines: origin, size and root")
        root = base64_decode(lines[2])
        if _SIZE.fullmatch(lines[1]) is None or len(root) != HASH_BYTES:
            raise Malformed("the size or the root of the checkpoint is none")
        return cls(lines[0], int(lines[1]), root)


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint whose signature by the log was verified, the octets that hold it, and by whom it was cosigned when."""

    checkpoint: Checkpoint
    octets: bytes = field(repr=False)
    cosigned: dict[str, datetime]


def sign_checkpoint(checkpoint: Checkpoint, key: VerifierKey, signature: bytes) -> bytes:
    """The signed note; ``signature`` is that of the log over ``checkpoint.text``."""
    return f"{checkpoint.text}\n{key.line(signature)}".encode()


def open_checkpoint(
    octets: bytes, log: VerifierKey, witnesses: Iterable[VerifierKey] = (), *, cosignatures: int = 0
) -> SignedCheckpoint:
    """The checkpoint that ``log`` has signed and at least so many of ``witnesses`` have cosigned.

    Raises ``Malformed``; ``Refuted`` for a wrong or missing signature and for a checkpoint of another log.
    """
    note = Note.parse(octets)
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != log.name:
        raise Refuted(f"the checkpoint is of another log, {checkpoint.origin}")
    found = note.by(log)
    if found is None:
        raise Refuted("the checkpoint is not signed by the key of the log")
    _verify(log, note.text.encode(), found.signature)
    cosigned = {witness.name: at for witness in witnesses if (at := cosigned_at(note, witness)) is not None}
    if len(cosigned) < cosignatures:
        raise Refuted(f"{len(cosigned)} of the witnesses have cosigned the checkpoint, {cosignatures} were asked for")
    return SignedCheckpoint(checkpoint, octets, cosigned)


def cosignature_message(text: str, seconds: int) -> bytes:
    """What a witness signs at a POSIX time."""
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def cosignature_line(key: VerifierKey, seconds: int, signature: bytes) -> str:
    """The line that a witness answers with."""
    return key.line(seconds.to_bytes(8, "big") + signature)


def cosigned_at(note: Note, witness: VerifierKey) -> datetime | None:
    """When ``witness`` cosigned the note, None when it did not. Raises ``Refuted`` for a wrong cosignature."""
    found = note.by(witness)
    if found is None or witness.kind != WITNESS:
        return None
    seconds = int.from_bytes(found.signature[:8], "big")
    if len(found.signature) != 72 or not 0 < seconds < 2**63:
        raise Refuted(f"the cosignature of {witness.name} has another form")
    _verify(witness, cosignature_message(note.text, seconds), found.signature[8:])
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise Refuted(f"the cosignature of {witness.name} is of no time that there is") from error


def _verify(key: VerifierKey, message: bytes, signature: bytes) -> None:
    try:
        ed25519.verify(key.public, message, signature)
    except ed25519.Ed25519SignatureInvalid as error:
        raise Refuted(f"the signature of {key.name} is wrong") from error
