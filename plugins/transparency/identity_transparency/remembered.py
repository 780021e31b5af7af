"""The last checkpoint that an installation signed, and the end of its audit log, stored apart from its databases.

Older or foreign databases do not agree with it, because the log must contain the tree of the checkpoint, and the audit log the
line. The file is JSON; only the checkpoint in it is signed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from identity_core.files import durable_draft, open_regular
from identity_tlog.note import Checkpoint, Note
from identity_tlog.tree import Malformed


class _File(Struct, rename="camel", omit_defaults=True):
    checkpoint: str
    audit_lines: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    audit_link: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    published: bool = False


class Remembered(Struct, frozen=True):
    """A stored checkpoint and the end of the audit log.

    - ``note``: the signed checkpoint.
    - ``audit_lines``, ``audit_link``: number of the last audit line (0: none) and its link in the chain, 32 bytes.
    - ``is_published``: others hold the checkpoint, as the operator of a restore stated. A shorter log must continue under a new name.
    """

    note: bytes
    audit_lines: int
    audit_link: bytes
    is_published: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Remembered:
        """Return the value of the bytes that ``encode`` returned. Raises ``Malformed``."""
        try:
            read = msgspec.json.decode(data, type=_File)
        except (ValueError, RecursionError) as error:
            raise Malformed("it is not what was remembered") from error
        remembered = cls(read.checkpoint.encode(), read.audit_lines, bytes.fromhex(read.audit_link), read.published)
        Checkpoint.parse(Note.parse(remembered.note).text)
        return remembered

    def encode(self) -> bytes:
        """Return the content of the file."""
        file = _File(self.note.decode(), self.audit_lines, self.audit_link.hex(), self.is_published)
        return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"

    @property
    def checkpoint(self) -> Checkpoint:
        """Return the signed checkpoint; the signature is not verified."""
        return Checkpoint.parse(Note.parse(self.note).text)

    def covers(self, other: Remembered) -> bool:
        """Return whether this state is as late as ``other`` or later."""
        return self.checkpoint.size >= other.checkpoint.size and self.audit_lines >= other.audit_lines


# Two kilobytes are usual; whatever has more is another file.
MOST_BYTES = 65_536


class CheckpointFile(Struct, frozen=True):
    """The file of the stored checkpoint. Calls block on a disk."""

    path: Path

    def load(self) -> Remembered | None:
        """Return the saved state. Raises ``Malformed``, ``OSError``."""
        try:
            with open_regular(self.path) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        return Remembered.parse(data)

    def save(self, remembered: Remembered) -> None:
        """Store the state durably, unless the stored one is as late or later. Raises ``OSError``."""
        try:
            known = self.load()
        except Malformed:
            # It was complete at the start; the state that this process has seen is better than a file that was changed since.
            known = None
        if known is None or not known.covers(remembered):
            self.replace(remembered)

    def replace(self, remembered: Remembered) -> None:
        """Store the state durably, in any case. Raises ``OSError``."""
        with durable_draft(self.path, remembered.encode()) as draft:
            draft.replace(self.path)
