"""What an installation remembers of itself apart from its databases: the last checkpoint that it signed, and the end of its audit log.

Whoever puts older databases in place, or others, cannot make them agree with it: the log must hold the tree of the checkpoint,
and the audit log the line. The file is JSON; the checkpoint in it is signed, the rest is not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from identity_core.domain.merkle.checkpoint import Checkpoint
from identity_core.domain.merkle.note import Note
from identity_core.domain.merkle.refusals import Malformed

LINK_BYTES = 32


@dataclass(frozen=True, slots=True)
class Remembered:
    """``note`` is the signed checkpoint; ``audit_lines`` is the number of the last audit line, 0 when there was none, and
    ``audit_link`` its place in the chain, 32 octets."""

    note: bytes
    audit_lines: int
    audit_link: bytes

    @classmethod
    def parse(cls, octets: bytes) -> Remembered:
        """From the octets of ``encode``. Raises ``Malformed``."""
        try:
            read = json.loads(octets)
            note, lines, link = str(read["checkpoint"]).encode(), read["auditLines"], bytes.fromhex(read["auditLink"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Malformed("it is not what was remembered") from error
        if type(lines) is not int or not 0 <= lines < 2**63 or len(link) != LINK_BYTES:
            raise Malformed("it is not what was remembered")
        remembered = cls(note, lines, link)
        Checkpoint.parse(Note.parse(remembered.note).text)
        return remembered

    def encode(self) -> bytes:
        """The file."""
        read = {"checkpoint": self.note.decode(), "auditLines": self.audit_lines, "auditLink": self.audit_link.hex()}
        return json.dumps(read, indent=2).encode() + b"\n"

    @property
    def checkpoint(self) -> Checkpoint:
        """What was signed; the signature is not looked at."""
        return Checkpoint.parse(Note.parse(self.note).text)

    def covers(self, other: Remembered) -> bool:
        """Whether this one is of the same time as ``other`` or later."""
        return self.checkpoint.size >= other.checkpoint.size and self.audit_lines >= other.audit_lines
